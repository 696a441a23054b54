import { defined } from "../../defined.ts";

export const POWER_EVENT_KINDS = [
  "power",
  "reset",
  "boot",
  "shutdown",
  "supply",
  "watchdog",
  "fault",
] as const;
/**
 * What a log entry is about: the machine's power, a restart, the start or end of its operating system, a power supply, a
 * watchdog. `fault` is any other critical entry.
 */
export type PowerEventKind = (typeof POWER_EVENT_KINDS)[number];

/** A log entry that may explain a restart. */
export interface PowerEvent {
  /** ISO 8601; absent if the BMC did not know the time, which the message then says. */
  readonly time?: string;
  /** The kind of event. */
  readonly kind: PowerEventKind;
  /** What happened, in the BMC's words. */
  readonly message: string;
  /** Absent if the BMC does not report it. */
  readonly severity?: "ok" | "warning" | "critical";
  /** The log that contains the entry. */
  readonly source: string;
}

/** A log entry from a driver. */
export interface FoundEvent extends PowerEvent {
  /** What the entry proves: that the machine started or restarted at that time, or that it had booted by then. */
  readonly proves?: "restart" | "boot";
}

/** The machine's last start or restart, as far as the BMC reports it. */
export interface LastReset {
  /** ISO 8601. */
  readonly time?: string;
  /** The cause, in the words of the BMC or the IPMI specification. */
  readonly cause?: string;
  /** Where the time and the cause come from. */
  readonly source: string;
}

/** Selects events. */
export interface EventWindow {
  /** How long before and after the last restart to include events; 0 means all. */
  readonly windowMs: number;
  /** The most events, preferring those closest to the restart; 0 means all. */
  readonly limit: number;
}

export interface SelectedEvents {
  readonly lastReset: LastReset | undefined;
  /** How many events the logs have, selected or not. */
  readonly total: number;
  /** Oldest first. */
  readonly events: readonly PowerEvent[];
}

/** The longest time between a restart and the end of its boot. */
const BOOT_MS = 15 * 60_000;
/** How long before a restart its cause may have been logged. */
const CAUSE_BEFORE_MS = 5 * 60_000;
const CAUSE_AFTER_MS = 60_000;

/** The earliest believable time. A clock that was never set starts in 1970 or when the firmware was built. */
const EARLIEST_MS = Date.UTC(2005, 0, 1);

/** Milliseconds since the epoch as ISO 8601; undefined for the time of a clock that was not set. */
export function knownTime(ms: number): string | undefined {
  return Number.isFinite(ms) && ms >= EARLIEST_MS ? new Date(ms).toISOString() : undefined;
}

/** An event and the time by which it is sorted. */
interface Placed {
  readonly event: FoundEvent;
  /** The event's own time, or else that of the next entry in its log that has one; undefined if no later entry has a time. */
  readonly ms: number | undefined;
}

/** Selects the last restart and the events around it. `logs` has the events of each log, oldest first. */
export function selectEvents(
  reported: LastReset | undefined,
  logs: readonly (readonly FoundEvent[])[],
  { windowMs, limit }: EventWindow,
): SelectedEvents {
  const placed = logs.flatMap(place);
  const lastReset = findLastReset(reported, placed);
  const resetMs = lastReset?.time === undefined ? undefined : Date.parse(lastReset.time);
  const away = ({ ms }: Placed) =>
    resetMs === undefined ? 0 : Math.abs((ms ?? Number.POSITIVE_INFINITY) - resetMs);
  const isOrdered = (a: Placed, b: Placed) =>
    a.ms === b.ms ? 0 : (a.ms ?? Number.POSITIVE_INFINITY) - (b.ms ?? Number.POSITIVE_INFINITY);
  const isWanted = (one: Placed) => windowMs === 0 || one.ms === undefined || away(one) <= windowMs;
  const wanted = withoutRepetitions(placed.filter(isWanted).toSorted(isOrdered));
  const nearest = wanted.toReversed().toSorted((a, b) => (away(a) === away(b) ? 0 : away(a) - away(b)));
  const kept = new Set(limit === 0 ? nearest : nearest.slice(0, limit));
  return {
    lastReset,
    total: placed.length,
    events: wanted.filter((one) => kept.has(one)).map(({ event: { proves: _, ...event } }) => event),
  };
}

/** Gives entries without a time that of the next entry, because a BMC may log a restart before it knows the time. */
function place(log: readonly FoundEvent[]): Placed[] {
  let next: number | undefined;
  return log
    .toReversed()
    .map((event) => {
      next = event.time === undefined ? next : Date.parse(event.time);
      return { event, ms: next };
    })
    .toReversed();
}

/** Removes duplicates, because some BMCs show one entry in several logs. */
function withoutRepetitions(placed: readonly Placed[]): Placed[] {
  const seen = new Map<string, string>();
  return placed.filter(({ event: { time, message, source } }) => {
    const key = `${time ?? ""} ${message}`;
    const other = seen.get(key);
    if (other === undefined) seen.set(key, source);
    return other === undefined || other === source;
  });
}

function findLastReset(reported: LastReset | undefined, placed: readonly Placed[]): LastReset | undefined {
  const timed = placed.filter(({ event }) => event.time !== undefined);
  const shown = reported?.time === undefined ? newestRestart(timed) : undefined;
  const time = reported?.time ?? shown?.event.time;
  const isKnown = reported?.cause !== undefined && !/^unknown/i.test(reported.cause);
  const why = isKnown || time === undefined ? undefined : causeAround(Date.parse(time), timed);
  const cause = isKnown ? reported.cause : (why?.message ?? reported?.cause);
  const sources = [reported?.source, shown?.event.source, why?.source].filter((one) => one !== undefined);
  if (time === undefined && cause === undefined) return undefined;
  return { ...defined({ time, cause }), source: [...new Set(sources)].join(", ") };
}

/** Finds the newest restart. A boot counts as one only if its restart was not logged. */
function newestRestart(timed: readonly Placed[]): Placed | undefined {
  const newest = (some: readonly Placed[]) =>
    some.reduce<Placed | undefined>(
      (best, one) => ((one.ms ?? 0) >= (best?.ms ?? 0) ? one : best),
      undefined,
    );
  const last = newest(timed.filter(({ event }) => event.proves !== undefined));
  const since = (last?.ms ?? 0) - BOOT_MS;
  return newest(timed.filter(({ event, ms = 0 }) => event.proves === "restart" && ms >= since)) ?? last;
}

/** An entry that names who or what restarted the machine, such as `reset by: admin`. */
const NAMES_CAUSE = /\b(by|due to|caused|because|button)\b/i;
const EXPLAINS: ReadonlySet<PowerEventKind> = new Set(["power", "reset", "shutdown"]);

/** Finds the entry that explains a restart: preferably a watchdog, then a user or client that requested it. */
function causeAround(resetMs: number, timed: readonly Placed[]): FoundEvent | undefined {
  const around = timed
    .filter(({ ms = 0 }) => ms >= resetMs - CAUSE_BEFORE_MS && ms <= resetMs + CAUSE_AFTER_MS)
    .map(({ event }) => event);
  const watchdog = around.findLast(({ kind, severity }) => kind === "watchdog" && severity !== "ok");
  return watchdog ?? around.findLast(({ kind, message }) => EXPLAINS.has(kind) && NAMES_CAUSE.test(message));
}
