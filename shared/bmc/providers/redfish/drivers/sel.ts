import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { SelDriver, SelEntry } from "../../../operations/sel.ts";
import { ListedAction, listedParameters, writeAction } from "../resources/action-parameters.ts";
import type { Resources } from "../resources/resources.ts";
import { describeWrite } from "../resources/writer.ts";
import { Link, lenient } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";

/** More than any BMC keeps; a log that claims more is cut off. */
const MOST_ENTRIES = 20_000;
const MOST_REQUESTS = 1_000;

const LogService = z.object({
  Id: lenient(z.string()),
  Entries: lenient(Link),
  Actions: lenient(z.object({ "#LogService.ClearLog": lenient(ListedAction) })),
});

/** Of MegaRAC, on boards of several makers. */
const CLEARING = { ClearType: "ClearAll" };

const LogEntry = z.object({
  Id: lenient(z.union([z.string(), z.number()])),
  Created: lenient(z.string()),
  Severity: lenient(z.string()),
  Message: lenient(z.string()),
  MessageId: lenient(z.string()),
});
type LogEntry = z.infer<typeof LogEntry>;

/** How vendors name the log that IPMI calls SEL, best first. */
const NAMES = [
  /^sel$/i,
  /^iml$/i,
  /^log\d*$/i,
  /^event_?log$/i,
  /^(standard|active|system)_?(event_?)?log$/i,
];

const SEVERITIES: Readonly<Record<string, NonNullable<SelEntry["severity"]>>> = {
  ok: "ok",
  warning: "warning",
  critical: "critical",
};

const Chassis = z.object({ LogServices: lenient(Link) });

/** The log service that holds the system event log, of the manager, the system or, on Cisco's, the chassis. */
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

  async list(signal: AbortSignal): Promise<readonly SelEntry[]> {
    const { members } = this.#options;
    const limits = { members: MOST_ENTRIES, requests: { left: MOST_REQUESTS } };
    // Nearly every service names the entries so, which saves reading the log service.
    const known = this.#path;
    const guessed =
      known === undefined ? undefined : await members.read(`${known}/Entries`, LogEntry, signal, limits);
    const entries = guessed ?? (await this.#entries(signal));
    return oldestFirst(entries.map(({ path, value }) => selEntry(path, value)));
  }

  async count(signal: AbortSignal): Promise<number> {
    const entries = await this.#entriesPath(signal);
    const count = await this.#options.members.count(entries, signal);
    if (count === undefined) throw noEntries(entries);
    return count;
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
    return { method: "POST", path, body, tagPath } as const;
  }

  async #entries(signal: AbortSignal) {
    const entries = await this.#entriesPath(signal);
    const limits = { members: MOST_ENTRIES, requests: { left: MOST_REQUESTS } };
    const found = await this.#options.members.read(entries, LogEntry, signal, limits);
    if (!found) throw noEntries(entries);
    return found;
  }

  async #entriesPath(signal: AbortSignal): Promise<string> {
    const { value, path } = await this.#service(signal);
    return this.#options.system.service.localPath(value.Entries?.["@odata.id"]) ?? `${path}/Entries`;
  }

  async #service(signal: AbortSignal): Promise<Resource<z.infer<typeof LogService>>> {
    const { service } = this.#options.system;
    const known = this.#path === undefined ? undefined : await service.find(this.#path, LogService, signal);
    if (known) return known;
    this.#path = await this.#find(signal);
    return await service.get(this.#path, LogService, signal);
  }

  /** Looks at the system's logs, then the manager's and the chassis', and takes the best named of all. */
  async #find(signal: AbortSignal): Promise<string> {
    const { system, manager, members } = this.#options;
    await system.refresh(signal);
    const found: string[] = [];
    for (const owner of [async () => system.last, () => manager.seen(signal), () => this.#chassis(signal)]) {
      const path = system.service.localPath((await owner())?.value.LogServices?.["@odata.id"]);
      const listed = path === undefined ? undefined : await members.list(path, signal);
      found.push(...(listed ?? []).map((member) => member.path));
      if (found.some((log) => rank(log) === 0)) break;
    }
    const [best] = found.filter((log) => rank(log) < NAMES.length).toSorted((a, b) => rank(a) - rank(b));
    if (best === undefined) {
      const logs = found.length > 0 ? `, only ${found.join(", ")}` : "";
      throw new BmcError("unsupported", `the BMC offers no system event log${logs}`);
    }
    return best;
  }

  async #chassis(signal: AbortSignal): Promise<Resource<z.infer<typeof Chassis>> | undefined> {
    const { service, last } = this.#options.system;
    const path = service.localPath(last.value.Links?.Chassis[0]?.["@odata.id"]);
    return path === undefined ? undefined : await service.find(path, Chassis, signal);
  }
}

function noEntries(path: string): BmcError {
  return new BmcError("unsupported", `there are no log entries at ${path}`);
}

function rank(path: string): number {
  const name = path.replace(/\/$/, "").split("/").at(-1) ?? "";
  const found = NAMES.findIndex((pattern) => pattern.test(name));
  return found === -1 ? NAMES.length : found;
}

function selEntry(path: string, entry: LogEntry): SelEntry {
  const ms = entry.Created === undefined ? Number.NaN : Date.parse(entry.Created);
  const severity = SEVERITIES[entry.Severity?.toLowerCase() ?? ""];
  return {
    id: entry.Id === undefined ? (path.split("/").at(-1) ?? path) : String(entry.Id),
    ...defined({ at: Number.isNaN(ms) ? undefined : new Date(ms).toISOString(), severity }),
    message: entry.Message?.trim() || entry.MessageId || "(no message)",
  };
}

/** Some BMCs list the newest first. Entries without a time go by their numbers; without numbers order is kept. */
function oldestFirst(entries: readonly SelEntry[]): SelEntry[] {
  const byNumber = (a: SelEntry, b: SelEntry) => Number(a.id) - Number(b.id) || 0;
  if (entries.every(({ at }) => at !== undefined)) {
    return entries.toSorted((a, b) => (a.at ?? "").localeCompare(b.at ?? "") || byNumber(a, b));
  }
  return entries.every(({ id }) => /^\d+$/.test(id)) ? entries.toSorted(byNumber) : [...entries];
}
