import { defined } from "../../shared/defined.ts";
import { type Answer, methodNotAllowed, noContent, notFound, ok, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

export interface SimulatedLogEntry {
  readonly id: string;
  readonly created?: string;
  readonly severity: string;
  readonly message: string;
  /** Additional fields. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** The log services of a resource, one of which holds the system event log. */
export class Logs implements ResourceService {
  readonly path: string;
  readonly entries: SimulatedLogEntry[] = [];
  /** The firmware's boot codes of each boot, latest first. Undefined if the BMC has no log of them; only OpenBMC has one. */
  boots: { readonly startedMs: number; readonly codes: readonly string[] }[] | undefined;
  /** The message of the entry that clearing leaves; undefined for none. */
  clearingMessage: string | undefined;
  readonly #profile: RedfishProfile;

  constructor(owner: string, profile: RedfishProfile) {
    this.path = `${owner}/LogServices`;
    this.#profile = profile;
  }

  /** Adds an entry, as hardware does. */
  add(severity: string, message: string, created?: string, fields?: Readonly<Record<string, unknown>>): void {
    const id = String(this.entries.length + 1);
    this.entries.push({ id, severity, message, ...defined({ created, fields }) });
  }

  answer({ method, path, body }: ResourceRequest): Answer | undefined {
    if (path !== this.path && !path.startsWith(`${this.path}/`)) return undefined;
    const { sel } = this.#profile;
    const own = `${this.path}/${sel.name}`;
    const entries = sel.entriesPath ?? `${own}/Entries`;
    const audit = `${this.path}/Audit`;
    if (path === this.path)
      return ok(collection(path, "LogService", sel.below === "chassis" ? [own] : [audit, own]));
    if (path === audit || path.startsWith(`${audit}/`)) return auditLog(method, path, audit);
    if (path === own && method === "GET") {
      const target = `${own}/Actions/LogService.ClearLog`;
      return ok(
        resource(own, "LogService", {
          Name: "System Event Log",
          LogEntryType: "SEL",
          Entries: { "@odata.id": entries },
          ...(sel.clearable ? { Actions: { "#LogService.ClearLog": { target } } } : {}),
        }),
      );
    }
    if (path === `${own}/Actions/LogService.ClearLog` && sel.clearable) {
      if (method !== "POST") return methodNotAllowed(method);
      if (JSON.stringify(body) !== "{}") {
        return refusal(400, "Base.1.8.MalformedJSON", "The request body was malformed JSON.");
      }
      this.entries.length = 0;
      if (this.clearingMessage !== undefined) this.add("OK", this.clearingMessage);
      return noContent;
    }
    if (path === `${this.path}/PostCodes/Entries` && this.boots) return ok(this.#postCodes(path));
    if (path === entries || path.startsWith(`${entries}/`)) return this.#entries(path, entries);
    return notFound(path);
  }

  #entries(path: string, entries: string): Answer {
    if (path === entries) {
      const ids = this.entries.map(({ id }) => `${entries}/${id}`);
      const ordered = this.#profile.sel.newestFirst ? ids.toReversed() : ids;
      const members = collection(path, "LogEntry", ordered);
      if (!this.#profile.sel.embedded) return ok(members);
      return ok({ ...members, Members: ordered.map((entry) => this.#entry(entry)) });
    }
    const entry = this.#entry(path);
    return entry ? ok(entry) : notFound(path);
  }

  #postCodes(path: string) {
    const members = (this.boots ?? []).flatMap(({ startedMs, codes }, boot) =>
      codes.map((code, index) => {
        const id = `B${boot + 1}-${index + 1}`;
        return resource(`${path}/${id}`, "LogEntry", {
          Id: id,
          Name: "POST Code Log Entry",
          EntryType: "Event",
          Created: new Date(startedMs + index).toISOString(),
          Message: `Boot Count: ${boot + 1}; Time Stamp Offset: 0.0000 seconds; POST Code: ${code}`,
          MessageArgs: [String(boot + 1), "0.0000", code],
        });
      }),
    );
    return { ...collection(path, "LogEntry", []), Members: members, "Members@odata.count": members.length };
  }

  #entry(path: string) {
    const entry = this.entries.find(({ id }) => path.endsWith(`/${id}`));
    if (!entry) return undefined;
    return resource(path, "LogEntry", {
      Name: `Log entry ${entry.id}`,
      EntryType: "SEL",
      ...defined({ Created: entry.created }),
      Severity: entry.severity,
      Message: entry.message,
      ...entry.fields,
    });
  }
}

/** Answers for a second log, which is of another kind, empty, and without ClearLog. */
function auditLog(method: string, path: string, audit: string): Answer {
  if (method !== "GET") return methodNotAllowed(method);
  const entries = `${audit}/Entries`;
  if (path === entries) return ok(collection(path, "LogEntry", []));
  if (path !== audit) return notFound(path);
  const fields = { Name: "Audit Log", LogEntryType: "Event", Entries: { "@odata.id": entries } };
  return ok(resource(path, "LogService", fields));
}
