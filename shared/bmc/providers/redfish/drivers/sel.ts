import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { type SelDriver, type SelEntry, unreadEntry } from "../../../operations/sel.ts";
import { ListedAction, listedParameters, writeAction } from "../resources/action-parameters.ts";
import type { ReadLimits } from "../resources/members.ts";
import type { Resources } from "../resources/resources.ts";
import { unreadable } from "../resources/unreadable.ts";
import { describeWrite } from "../resources/writer.ts";
import { lastPart } from "../service/paths.ts";
import { Link, lenient } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";
import { timeOf } from "./log-event.ts";

/** More than any BMC keeps. A log that claims more is cut off. */
const MOST_ENTRIES = 20_000;
const MOST_REQUESTS = 1_000;

const LogService = z.object({
  Entries: lenient(Link),
  Actions: lenient(z.object({ "#LogService.ClearLog": lenient(ListedAction) })),
});

/** The parameter that MegaRAC requires, on boards of several vendors. */
const CLEARING = { ClearType: "ClearAll" };

const LogEntry = z.object({
  Id: lenient(z.union([z.string(), z.number()])),
  Created: lenient(z.string()),
  Severity: lenient(z.string()),
  Message: lenient(z.string()),
  MessageId: lenient(z.string()),
});
type LogEntry = z.infer<typeof LogEntry>;

/** Vendors' names of the log that IPMI calls SEL, the best first. An active log contains only unfinished events. */
const NAMES = [
  /^(system_?)?sel(_?log)?\d*$/i,
  /^iml$/i,
  /^log\d*$/i,
  /^event_?log$/i,
  /^(platform|standard|system)_?(event_?)?log$/i,
  /^active_?(event_?)?log$/i,
];

const SEVERITIES: Readonly<Record<string, NonNullable<SelEntry["severity"]>>> = {
  ok: "ok",
  warning: "warning",
  critical: "critical",
};

type Log = Resource<z.infer<typeof LogService>>;

const Chassis = z.object({ LogServices: lenient(Link) });

/** The log service with the system event log, of the manager, the system or, for Cisco, the chassis. */
export class RedfishSel implements SelDriver {
  readonly #options: Resources;
  #path: string | undefined;

  constructor(options: Resources, path: string | undefined) {
    this.#options = options;
    this.#path = path;
  }

  /** Path of the log service; undefined until it was found. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Forgets the log, so that the next reading searches it. */
  forget(): void {
    this.#path = undefined;
  }

  async list(signal: AbortSignal): Promise<readonly SelEntry[]> {
    await this.#options.system.confirm(signal);
    // Nearly every service uses this name for the entries, so guessing it saves reading the log service.
    const guessed =
      this.#path === undefined ? undefined : await this.#entries(`${this.#path}/Entries`, signal);
    return guessed ?? (await this.#ofLog((entries) => this.#entries(entries, signal), signal));
  }

  async count(signal: AbortSignal): Promise<number> {
    return await this.#ofLog((entries) => this.#options.members.count(entries, signal), signal);
  }

  async plan(signal: AbortSignal): Promise<string> {
    return describeWrite(await this.#clearing(signal));
  }

  async clear(signal: AbortSignal): Promise<void> {
    const { writer, system } = this.#options;
    await writeAction({ writer, service: system.service }, await this.#clearing(signal), CLEARING, signal);
  }

  async #clearing(signal: AbortSignal) {
    const { value, path: tagPath } = await this.#service(signal);
    const { service } = this.#options.system;
    const name = "#LogService.ClearLog";
    const action = value.Actions?.[name];
    const path = service.actionPath(tagPath, name, action);
    if (!action || path === undefined)
      throw new BmcError("unsupported", `the BMC does not let ${tagPath} be cleared`);
    const body = await listedParameters(service, action, CLEARING, signal);
    return { method: "POST", path, body, tagPath, effect: "setting" } as const;
  }

  /** Reads the entries, the oldest first. An entry that cannot be read says so. Undefined if there are no such entries. */
  async #entries(path: string, signal: AbortSignal): Promise<readonly SelEntry[] | undefined> {
    const unread: SelEntry[] = [];
    const limits: ReadLimits = {
      members: MOST_ENTRIES,
      requests: { left: MOST_REQUESTS },
      unread: ({ name, reason }) => unread.push(unreadEntry(lastPart(name), reason)),
    };
    const found = await this.#options.members.read(path, LogEntry, signal, limits);
    if (!found) return undefined;
    // BMCs with wrong paging list an entry twice.
    const entries = new Map(found.map((entry) => [entry.path, selEntry(entry.path, entry.value)]));
    return [...oldestFirst([...entries.values()]), ...unread];
  }

  /** Returns the result of `read` for the entries of the best log that has any. Logs may be listed although they are gone. */
  async #ofLog<T>(read: (entriesPath: string) => Promise<T | undefined>, signal: AbortSignal): Promise<T> {
    let gone: string | undefined;
    for await (const log of this.#logs(signal)) {
      const entries = this.#entriesPath(log);
      const found = await read(entries);
      if (found !== undefined) {
        this.#path = log.path;
        return found;
      }
      gone ??= entries;
    }
    throw new BmcError("unsupported", `there are no log entries at ${gone}`);
  }

  #entriesPath({ value, path }: Log): string {
    return this.#options.system.service.localPath(value.Entries?.["@odata.id"]) ?? `${path}/Entries`;
  }

  async #service(signal: AbortSignal): Promise<Log> {
    await this.#options.system.confirm(signal);
    const { service } = this.#options.system;
    const known = this.#path === undefined ? undefined : await service.find(this.#path, LogService, signal);
    if (known) return known;
    for await (const log of this.#logs(signal)) {
      this.#path = log.path;
      return log;
    }
    throw new BmcError("unsupported", "the BMC offers no system event log");
  }

  /** The existing logs, those with the best names first. Throws `unsupported` if no log has the name of an event log. */
  async *#logs(signal: AbortSignal): AsyncGenerator<Log> {
    const { service } = this.#options.system;
    const listed: string[] = [];
    const tried = new Set<string>();
    const failures: unknown[] = [];
    let isAny = false;
    for await (const owned of this.#listed(failures, signal)) {
      listed.push(...owned);
      // The best name needs no comparison with the logs of others.
      for (const path of owned.filter((log) => rank(log) === 0)) {
        tried.add(path);
        const log = await service.find(path, LogService, signal);
        isAny ||= log !== undefined;
        if (log) yield log;
      }
    }
    const others = listed.filter((log) => !tried.has(log) && rank(log) < NAMES.length);
    for (const path of others.toSorted((a, b) => rank(a) - rank(b))) {
      tried.add(path);
      const log = await service.find(path, LogService, signal);
      isAny ||= log !== undefined;
      if (log) yield log;
    }
    if (isAny) return;
    if (failures.length > 0) throw failures[0];
    if (tried.size > 0) {
      throw new BmcError("unsupported", `the BMC lists ${[...tried].join(", ")}, which it does not have`);
    }
    const logs = listed.length > 0 ? `, only ${listed.join(", ")}` : "";
    throw new BmcError("unsupported", `the BMC offers no system event log${logs}`);
  }

  /**
   * The paths of the logs of the system, then of the manager, then of the chassis. Some may be readable although others are
   * not.
   */
  async *#listed(failures: unknown[], signal: AbortSignal): AsyncGenerator<readonly string[]> {
    const { system, manager, members } = this.#options;
    await system.refresh(signal);
    const owners = [async () => system.last, () => manager.seen(signal), () => this.#chassis(signal)];
    for (const owner of owners) {
      try {
        const path = system.service.localPath((await owner())?.value.LogServices?.["@odata.id"]);
        const listed = path === undefined ? undefined : await members.list(path, signal);
        if (listed) yield listed.map((member) => member.path);
      } catch (thrown) {
        failures.push(unreadable(thrown));
      }
    }
  }

  async #chassis(signal: AbortSignal): Promise<Resource<z.infer<typeof Chassis>> | undefined> {
    const { service, last } = this.#options.system;
    const path = service.localPath(last.value.Links?.Chassis[0]?.["@odata.id"]);
    return path === undefined ? undefined : await service.find(path, Chassis, signal);
  }
}

function rank(path: string): number {
  const found = NAMES.findIndex((pattern) => pattern.test(lastPart(path)));
  return found === -1 ? NAMES.length : found;
}

function selEntry(path: string, entry: LogEntry): SelEntry {
  const severity = SEVERITIES[entry.Severity?.toLowerCase() ?? ""];
  return {
    id: entry.Id === undefined ? lastPart(path) : String(entry.Id),
    ...defined({ at: timeOf(entry.Created), severity }),
    message: entry.Message?.trim() || entry.MessageId || "(no message)",
  };
}

/**
 * Sorts the oldest entry first, because some BMCs list the newest first. Entries without a time are sorted by number;
 * without numbers their order is kept.
 */
function oldestFirst(entries: readonly SelEntry[]): SelEntry[] {
  const byNumber = (a: SelEntry, b: SelEntry) => Number(a.id) - Number(b.id) || 0;
  if (entries.every(({ at }) => at !== undefined)) {
    return entries.toSorted((a, b) => (a.at ?? "").localeCompare(b.at ?? "") || byNumber(a, b));
  }
  return entries.every(({ id }) => /^\d+$/.test(id)) ? entries.toSorted(byNumber) : [...entries];
}
