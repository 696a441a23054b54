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
 * What a log entry is about: the machine's power, a restart, the boot of its operating system, the end of that, a power supply, a
 * watchdog; `fault` is any other critical entry.
 */
export type PowerEventKind = (typeof POWER_EVENT_KINDS)[number];

/** A log entry that may explain a restart. */
export interface PowerEvent {
  /** ISO 8601; absent if the BMC did not know the time, which the message then says. */
  readonly time?: string;
  /** What it is about. */
  readonly kind: PowerEventKind;
  /** What happened, in the BMC's words. */
  readonly message: string;
  /** Absent if the BMC does not report it. */
  readonly severity?: "ok" | "warning" | "critical";
  /** The log that has it. */
  readonly source: string;
}

/** An entry as a driver finds it. */
export interface FoundEvent extends PowerEvent {
  /** What it proves: that the machine was started or restarted then, or that it booted before. */
  readonly proves?: "restart" | "boot";
}

/** The machine's last start or restart, as far as the BMC reports it. */
export interface LastReset {
  /** ISO 8601. */
  readonly time?: string;
  /** Why, in the BMC's words or those of the IPMI specification. */
  readonly cause?: string;
  /** Where time and cause are from. */
  readonly source: string;
}

/** Which events are wanted. */
export interface EventWindow {
  /** How long before and after the last restart; 0 means all. */
  readonly windowMs: number;
  /** The most events, those next to the restart first; 0 means all. */
  readonly limit: number;
}

export interface SelectedEvents {
  readonly lastReset: LastReset | undefined;
  /** How many events the logs have, selected or not. */
  readonly total: number;
  /** Oldest first. */
  readonly events: readonly PowerEvent[];
}

/** A boot ends minutes after the restart that began it. */
const BOOT_MS = 15 * 60_000;
/** What caused a restart is logged around it. */
const CAUSE_BEFORE_MS = 5 * 60_000;
const CAUSE_AFTER_MS = 60_000;

/** Clocks that were never set begin in 1970, or where the firmware was built. */
const EARLIEST_MS = Date.UTC(2005, 0, 1);

/** Milliseconds since the epoch as ISO 8601; undefined for the time of a clock that was not set. */
export function knownTime(ms: number): string | undefined {
  return Number.isFinite(ms) && ms >= EARLIEST_MS ? new Date(ms).toISOString() : undefined;
}

/** An event and the time at which it is placed. */
interface Placed {
  readonly event: FoundEvent;
  /** Its own, or else that of the next entry of its log; undefined where no later entry has one. */
  readonly ms: number | undefined;
}

/** The last restart and the events around it. `logs`: the events of each log, oldest first. */
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

/** BMCs that learn the time only later log a restart without one: what follows it in the log says when it was. */
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

/** Some BMCs show one entry in several logs. */
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

/** The newest restart. One whose boot alone was logged counts, too; else the boot says no more than its restart. */
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

/** The entry around a restart that explains it: first a watchdog, then the user or client that requested the restart. */
function causeAround(resetMs: number, timed: readonly Placed[]): FoundEvent | undefined {
  const around = timed
    .filter(({ ms = 0 }) => ms >= resetMs - CAUSE_BEFORE_MS && ms <= resetMs + CAUSE_AFTER_MS)
    .map(({ event }) => event);
  const watchdog = around.findLast(({ kind, severity }) => kind === "watchdog" && severity !== "ok");
  return watchdog ?? around.findLast(({ kind, message }) => EXPLAINS.has(kind) && NAMES_CAUSE.test(message));
}
