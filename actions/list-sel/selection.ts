import type { SelEntry } from "../../shared/bmc/operations/sel.ts";
import { count } from "../../shared/count.ts";
import { formatTable } from "../../shared/table.ts";

/** The severities, from the least severe to the most severe. */
export const SEVERITIES = ["ok", "warning", "critical"] as const;
type Severity = (typeof SEVERITIES)[number];

export interface Selection {
  /** The number of entries, without entries that could not be read. */
  readonly total: number;
  readonly unread: number;
  readonly critical: number;
  /** The number of entries that are at least as severe as requested, or could not be read. */
  readonly matching: number;
  /** The newest of the matching entries, oldest first. */
  readonly entries: readonly SelEntry[];
}

/** Selects entries. `limit` 0 means no limit. An entry without a severity counts as ok. */
export function select(
  log: readonly SelEntry[],
  { limit, severity: least }: { readonly limit: number; readonly severity: Severity },
): Selection {
  const rank = ({ severity = "ok" }: Pick<SelEntry, "severity">) => SEVERITIES.indexOf(severity);
  const matching = log.filter((entry) => entry.unread || rank(entry) >= SEVERITIES.indexOf(least));
  const unread = log.filter((entry) => entry.unread).length;
  return {
    total: log.length - unread,
    unread,
    critical: log.filter(({ severity }) => severity === "critical").length,
    matching: matching.length,
    entries: limit === 0 ? matching : matching.slice(-limit),
  };
}

/** Describes the selection: `120 entries in the event log, 3 critical; 14 of at least warning, the newest 10 listed`. */
export function describeSelection(
  { total, unread, critical, matching, entries }: Selection,
  least: Severity,
): string {
  if (total + unread === 0) return "the event log is empty";
  const counted = `${count(total, "entry", "entries")} in the event log`;
  const remarks = [
    ...(least === "ok" ? [] : [least === "critical" ? "" : `${matching - unread} of at least ${least}`]),
    ...(unread > 0 ? [`${unread} not read`] : []),
    ...(entries.length < matching ? [`the newest ${entries.length} listed`] : []),
  ].filter((remark) => remark !== "");
  const severe =
    critical > 0 || least === "critical" ? `, ${critical === 0 ? "none" : critical} critical` : "";
  return `${counted}${severe}${remarks.length > 0 ? `; ${remarks.join(", ")}` : ""}`;
}

/** Formats entries as a table. The times are UTC, as in the data. */
export function selTable(entries: readonly SelEntry[]): string {
  return formatTable(
    ["time (UTC)", "severity", "id", "message"],
    entries.map(({ at, severity, id, message }) => [clockTime(at), severity ?? "", id, message]),
  );
}

/** Formats a time: `2026-01-15 18:53:25`. */
function clockTime(at: string | undefined): string {
  return at === undefined ? "" : at.replace("T", " ").replace(/(\.\d+)?Z$/, "");
}
