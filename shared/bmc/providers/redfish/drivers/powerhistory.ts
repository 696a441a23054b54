import * as z from "zod/mini";
import type { PowerState } from "../../../../contract/vocabulary.ts";
import { defined } from "../../../../defined.ts";
import type { FoundEvent } from "../../../operations/power-events.ts";
import type {
  EventsRequest,
  FoundEvents,
  PowerFacts,
  PowerHistoryDriver,
} from "../../../operations/powerhistory.ts";
import type { Unread } from "../../../operations/unread.ts";
import type { ReadLimits } from "../resources/members.ts";
import { powerState, type Resources } from "../resources/resources.ts";
import { readable } from "../resources/unreadable.ts";
import { lastPart } from "../service/paths.ts";
import { Link, lenient, type System } from "../service/schema.ts";
import { bootProgress } from "./boot-progress.ts";
import { LogEvent, parseLogEvent, timeOf } from "./log-event.ts";

/** Names of logs about power, of several vendors. Dumps, journals and codes of the firmware are not included. */
const WANTED =
  /^((system_?)?sel(_?log)?|iml|iel|logs?|(platform|standard|system|maintenance|active|audit)?_?(event_?)?log|event|lc_?log|bios)\d*$/i;
const MOST_LOGS = 8;
/** The most entries to read from one log. */
const MOST_ENTRIES = 5_000;
/** The most requests for all logs. */
const MOST_REQUESTS = 200;

const LogService = z.object({ Entries: lenient(Link) });
const Owner = z.object({ LogServices: lenient(Link) });

/** XClarity counts the boots of its machine. */
const Oem = z.object({
  Lenovo: lenient(z.object({ NumberOfReboots: lenient(z.int().check(z.minimum(0))) })),
});

/** Why the machine restarted, according to its System and the entries of its own and its manager's logs. */
export class RedfishPowerHistory implements PowerHistoryDriver {
  readonly #resources: Resources;

  constructor(resources: Resources) {
    this.#resources = resources;
  }

  async facts(signal: AbortSignal): Promise<PowerFacts> {
    return factsOf((await this.#resources.system.read(signal)).value);
  }

  async events(request: EventsRequest, signal: AbortSignal): Promise<FoundEvents> {
    const { system } = this.#resources;
    await system.refresh(signal);
    const unread: Unread[] = [];
    const requests = { left: MOST_REQUESTS };
    const paths = await this.#logs(unread, signal);
    if (paths.length > MOST_LOGS)
      unread.push({
        name: paths.slice(MOST_LOGS).join(", "),
        reason: `there are more than ${MOST_LOGS} logs`,
      });
    const logs: (readonly FoundEvent[])[] = [];
    for (const path of paths.slice(0, MOST_LOGS)) {
      const read = () => this.#readLog(path, request, { requests, unread }, signal);
      logs.push((await readable({ name: path, unread: (gap) => unread.push(gap) }, read)) ?? []);
    }
    return { logs, unread };
  }

  /** Reads a log, the oldest entry first. */
  async #readLog(
    path: string,
    { resetMs, windowMs }: EventsRequest,
    { requests, unread }: { readonly requests: ReadLimits["requests"]; readonly unread: Unread[] },
    signal: AbortSignal,
  ): Promise<readonly FoundEvent[]> {
    const { system, members } = this.#resources;
    const about = { source: logName(path), systemPath: system.path };
    let restartMs = resetMs;
    const limits: ReadLimits = {
      members: MOST_ENTRIES,
      requests,
      highestFirst: true,
      unread: (gap) => unread.push(gap),
      // A log that begins with its newest entry need not be read to its end.
      isEnough: (page) => {
        const entries = page.map((body) => z.safeParse(LogEvent, body).data ?? {});
        const times = entries.map(({ EventTimestamp, Created }) => msOf(timeOf(EventTimestamp ?? Created)));
        const [first, last] = [times[0], times.at(-1)];
        if (windowMs === 0 || first === undefined || last === undefined || last >= first) return false;
        const found = entries.map((entry) => parseLogEvent(entry, about));
        restartMs ??= msOf(found.find((event) => event?.proves === "restart")?.time);
        return restartMs !== undefined && last < restartMs - windowMs;
      },
    };
    // Nearly every service uses this name for the entries, so guessing it saves reading the log service.
    const guessed = await members.read(`${path}/Entries`, LogEvent, signal, limits);
    const found = guessed ?? (await this.#linkedEntries(path, limits, signal));
    if (!found) unread.push({ name: path, reason: "the BMC does not have its entries" });
    const entries = new Map((found ?? []).map((entry) => [entry.path, entry.value]));
    const events = [...entries].flatMap(([entry, value]) => {
      const event = parseLogEvent(value, about);
      return event ? [{ event, number: Number(lastPart(entry)) }] : [];
    });
    return oldestFirst(events);
  }

  async #linkedEntries(path: string, limits: ReadLimits, signal: AbortSignal) {
    const { system, members } = this.#resources;
    const log = await system.service.find(path, LogService, signal);
    const entries = system.service.localPath(log?.value.Entries?.["@odata.id"]);
    return entries === undefined ? undefined : await members.read(entries, LogEvent, signal, limits);
  }

  /** The paths of the logs of system and manager, and of the chassis only if those have none. */
  async #logs(unread: Unread[], signal: AbortSignal): Promise<readonly string[]> {
    const { system, manager } = this.#resources;
    const chassis = system.service.localPath(system.last.value.Links?.Chassis[0]?.["@odata.id"]);
    const owners = [
      ["the system's logs", async () => system.last.value],
      ["the manager's logs", async () => (await manager.seen(signal)).value],
      [
        "the chassis' logs",
        async () =>
          chassis === undefined ? undefined : (await system.service.find(chassis, Owner, signal))?.value,
      ],
    ] as const;
    const paths = new Set<string>();
    for (const [index, [name, owner]] of owners.entries()) {
      if (index === owners.length - 1 && paths.size > 0) break;
      const gap = (one: Unread) => unread.push(one);
      const read = async () => await this.#listed((await owner())?.LogServices, gap, signal);
      const listed = await readable({ name, unread: gap }, read);
      for (const path of listed ?? []) paths.add(path);
    }
    if (paths.size === 0) unread.push({ name: "event logs", reason: "the BMC lists none" });
    return [...paths];
  }

  async #listed(
    link: z.infer<typeof Link> | undefined,
    unread: (gap: Unread) => void,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { system, members } = this.#resources;
    const path = system.service.localPath(link?.["@odata.id"]);
    if (path === undefined) return [];
    const listed = await members.list(path, signal);
    if (!listed) unread({ name: path, reason: "the BMC does not have it" });
    return (listed ?? []).map((member) => member.path).filter((log) => WANTED.test(lastPart(log)));
  }
}

/** The number of boots of a Lenovo machine; undefined for others. */
export function bootCount(system: System): number | undefined {
  return z.safeParse(Oem, system.Oem).data?.Lenovo?.NumberOfReboots;
}

function factsOf(system: System): PowerFacts {
  const { PowerState, LastResetTime: shown, LastResetCause: causes = [] } = system;
  const power: PowerState | undefined = PowerState === undefined ? undefined : powerState(PowerState);
  const time = timeOf(shown);
  const cause = causes.length === 0 ? undefined : causes.map(wordsOfCause).join(", ");
  const sources = [
    ...(time === undefined ? [] : ["LastResetTime"]),
    ...(cause === undefined ? [] : ["LastResetCause"]),
  ];
  const lastReset =
    sources.length === 0 ? undefined : { ...defined({ time, cause }), source: sources.join(", ") };
  const isUnset = shown !== undefined && time === undefined;
  return {
    ...defined({ power, lastReset, bootCount: bootCount(system), bootState: bootProgress(system)?.state }),
    unread: isUnset ? [{ name: "LastResetTime", reason: `the BMC's clock was at ${shown}` }] : [],
  };
}

/** The words of a cause, such as `watchdog expiration` for `WatchdogExpiration`. */
function wordsOfCause(cause: string): string {
  return cause.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

/**
 * The name of a log, such as `Systems/1/IML` for `/redfish/v1/Systems/1/LogServices/IML`, because several logs may share a
 * name.
 */
function logName(path: string): string {
  return path
    .replace(/^\/redfish\/v1\//, "")
    .replace(/\/LogServices\//, "/")
    .replace(/\/+$/, "");
}

function msOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}

interface Numbered {
  readonly event: FoundEvent;
  readonly number: number;
}

/** Sorts by time, then by number. Entries without a time are sorted by number; without numbers their order is kept. */
function oldestFirst(events: readonly Numbered[]): readonly FoundEvent[] {
  const byNumber = (a: Numbered, b: Numbered) => a.number - b.number || 0;
  const isTimed = events.every(({ event }) => event.time !== undefined);
  const isNumbered = events.every(({ number }) => !Number.isNaN(number));
  const byTime = (a: Numbered, b: Numbered) =>
    (a.event.time ?? "").localeCompare(b.event.time ?? "") || byNumber(a, b);
  const ordered = isTimed ? events.toSorted(byTime) : isNumbered ? events.toSorted(byNumber) : events;
  return ordered.map(({ event }) => event);
}
