import type { PowerHistory } from "../../shared/bmc/operations/powerhistory.ts";
import { formatTable } from "../../shared/table.ts";

interface Row {
  readonly time?: string | undefined;
  readonly kind: string;
  readonly severity?: string | undefined;
  readonly source: string;
  readonly message: string;
}

/**
 * Formats the history as a table. The times are UTC, as in the data. The last restart is among the events, and events
 * without a time are at the end.
 */
export function historyTable(history: PowerHistory): string {
  const { events, lastReset, bootCount, bootState, lastPowerEvent = [], unread } = history;
  const reset: Row[] = lastReset
    ? [
        {
          time: lastReset.time,
          kind: "LAST RESTART",
          source: lastReset.source,
          message: lastReset.cause ?? "cause not reported",
        },
      ]
    : [];
  const at = lastReset?.time === undefined ? events.length : placeOf(lastReset.time, events);
  const fact = (kind: string, message: string): Row => ({ kind, source: "", message });
  const rows: readonly Row[] = [
    ...events.slice(0, at),
    ...reset,
    ...events.slice(at),
    ...lastPowerEvent.map((message) => ({ ...fact("last power event", message), source: "chassis status" })),
    ...(bootCount === undefined ? [] : [fact("boot count", String(bootCount))]),
    ...(bootState === undefined ? [] : [fact("firmware state", bootState)]),
    ...unread.map(({ name, reason }) => ({ kind: "not read", source: name, message: reason })),
  ];
  return formatTable(
    ["time (UTC)", "event", "severity", "source", "message"],
    rows.map(({ time, kind, severity = "", source, message }) => [
      clockTime(time),
      kind,
      severity,
      source,
      message,
    ]),
  );
}

/** Returns the position before the first later event. */
function placeOf(time: string, events: PowerHistory["events"]): number {
  const later = events.findIndex((event) => event.time !== undefined && event.time > time);
  return later === -1 ? events.length : later;
}

/** Formats a time: `2026-01-15 18:53:25`. */
function clockTime(at: string | undefined): string {
  return at === undefined ? "" : at.replace("T", " ").replace(/(\.\d+)?Z$/, "");
}
