import type { PowerState } from "../../contract/vocabulary.ts";
import { count } from "../../count.ts";
import { defined } from "../../defined.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import type { ManagerDriver } from "./manager.ts";
import {
  type EventWindow,
  type FoundEvent,
  knownTime,
  type LastReset,
  type PowerEvent,
  selectEvents,
} from "./power-events.ts";
import { concernsOnePart, describeUnread, type Unread } from "./unread.ts";

/** Options for reading the power history. */
export interface PowerHistoryOptions extends EventWindow {
  /** Whether to look up the names of sensors with IPMI, which costs up to one round trip per sensor. */
  readonly sensorNames?: boolean;
}

/** What the BMC reports about the machine's last restart without its logs. */
export interface PowerFacts {
  readonly power?: PowerState;
  readonly lastReset?: LastReset;
  readonly bootCount?: number;
  /** What last happened to its power (IPMI 2.0 section 28.2). */
  readonly lastPowerEvent?: readonly string[];
  /** The last boot stage that the firmware reached. */
  readonly bootState?: string;
  readonly unread: readonly Unread[];
}

/** The entries that may explain a restart. */
export interface FoundEvents {
  /** The entries of each log, oldest first. */
  readonly logs: readonly (readonly FoundEvent[])[];
  readonly unread: readonly Unread[];
}

export interface EventsRequest {
  /** Time of the last restart, milliseconds since the epoch; undefined if only the logs can show it. */
  readonly resetMs: number | undefined;
  /** How long before the restart to read events; 0 means all. */
  readonly windowMs: number;
  readonly sensorNames: boolean;
}

export interface PowerHistoryDriver {
  /** Reads the facts in a few round trips. */
  facts(signal: AbortSignal): Promise<PowerFacts>;
  /** Reads the logs; one that cannot be read is in `unread`. */
  events(request: EventsRequest, signal: AbortSignal): Promise<FoundEvents>;
}

/** The BMC's clock, which gives the entries in its logs their times. */
export interface BmcClock {
  /** The time of the BMC's clock when the history was read, ISO 8601. */
  readonly time: string;
  /** How far the BMC's clock is ahead of this host's. */
  readonly offsetSeconds: number;
}

/** When and why a machine last restarted, and the log entries around that time. */
export interface PowerHistory {
  /** Absent if the BMC does not report it. */
  readonly power?: PowerState;
  /** Absent if the BMC reports neither its time nor its cause. */
  readonly lastReset?: LastReset;
  /** The number of boots; absent if the BMC does not count them, like most BMCs. */
  readonly bootCount?: number;
  /** What last happened to its power, such as `AC failed`; absent if the BMC does not report it. */
  readonly lastPowerEvent?: readonly string[];
  /** The last boot stage that the firmware reached; absent if the BMC does not report it. */
  readonly bootState?: string;
  /** Absent if the BMC does not report it, or does not know the time. */
  readonly clock?: BmcClock;
  /** How many events the logs have, listed or not. */
  readonly total: number;
  /** The events around the last restart, oldest first. */
  readonly events: readonly PowerEvent[];
  /** The logs and other parts that could not be read. */
  readonly unread: readonly Unread[];
}

type HistoryDrivers = { readonly powerhistory: PowerHistoryDriver; readonly manager: ManagerDriver };

export const powerHistoryOperations = defineOperations({
  title: "power history",
  methods: (run: Run<HistoryDrivers>) => ({
    /** Reads when and why the machine last restarted, and the events around that. */
    getPowerHistory: (
      options: PowerHistoryOptions,
      signal: AbortSignal = neverAborted(),
    ): Promise<PowerHistory> => run(signal, (access) => readHistory(access, options, signal)),
  }),
  check: async ({ read }, signal) => {
    const facts = await read(({ powerhistory }) => powerhistory.facts(signal));
    return ok(describeReset(facts) ?? "only the logs may tell of the last restart");
  },
});

async function readHistory(
  { read, clock }: Access<HistoryDrivers>,
  { windowMs, limit, sensorNames = false }: PowerHistoryOptions,
  signal: AbortSignal,
): Promise<PowerHistory> {
  const {
    unread: gaps,
    lastReset: reported,
    ...facts
  } = await read(({ powerhistory }) => powerhistory.facts(signal));
  const resetMs = reported?.time === undefined ? undefined : Date.parse(reported.time);
  const request = { resetMs, windowMs, sensorNames };
  const found = await read(({ powerhistory }) => powerhistory.events(request, signal));
  const unread = [...gaps, ...found.unread];
  const bmcClock = await read(async ({ manager }): Promise<BmcClock | undefined> => {
    try {
      const beforeMs = clock.now();
      const bmcMs = await manager.clockMs(signal);
      const time = knownTime(bmcMs ?? Number.NaN);
      if (time !== undefined && bmcMs !== undefined)
        return { time, offsetSeconds: Math.round((bmcMs - (beforeMs + clock.now()) / 2) / 1_000) };
      unread.push({ name: "the BMC's clock", reason: "the BMC does not know the time" });
    } catch (thrown) {
      unread.push({ name: "the BMC's clock", reason: concernsOnePart(thrown).message });
    }
    return undefined;
  });
  const { lastReset, total, events } = selectEvents(reported, found.logs, { windowMs, limit });
  return { ...facts, ...defined({ lastReset, clock: bmcClock }), total, events, unread };
}

function describeReset({
  lastReset,
  bootCount,
  bootState,
}: Pick<PowerFacts, "lastReset" | "bootCount" | "bootState">): string | undefined {
  const { time, cause } = lastReset ?? {};
  const parts = [
    ...(time === undefined && cause === undefined
      ? []
      : [`last restart${time === undefined ? "" : ` at ${time}`}${cause === undefined ? "" : `: ${cause}`}`]),
    ...(bootCount === undefined ? [] : [count(bootCount, "boot")]),
    ...(bootState === undefined ? [] : [`firmware state ${bootState}`]),
  ];
  return parts.length === 0 ? undefined : parts.join(", ");
}

/** The smallest offset of the BMC's clock that a summary mentions. */
const WORTH_TELLING_SECONDS = 60;

/** One line for people: `last restart at …: watchdog expired, 12 boots; 4 of 30 events; …`. */
export function describeHistory(history: PowerHistory): string {
  const { total, events, clock, unread } = history;
  const told = describeReset(history) ?? "the last restart is not known";
  const listed =
    events.length === total ? count(total, "event") : `${events.length} of ${count(total, "event")}`;
  const offset = clock?.offsetSeconds ?? 0;
  const skew =
    Math.abs(offset) < WORTH_TELLING_SECONDS
      ? ""
      : `; the BMC's clock is ${Math.abs(offset)} s ${offset > 0 ? "ahead" : "behind"}`;
  return `${told}; ${listed}${skew}${describeUnread(unread, "part")}`;
}
