import type * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Logger } from "../../../../logger.ts";
import { Collection, ServiceRoot } from "../service/schema.ts";
import { parseResource, type Resource, type Service } from "../service/service.ts";

export const SERVICE_ROOT = "/redfish/v1/";
/** Expanded collections hold whole resources; the largest seen, full event logs, stay below this. */
const MAX_PAGE_BYTES = 8 * 1_048_576;
const MOST_PAGES = 100;
/** From as many members on, reading the service root to learn about `$expand` saves a request. */
const WORTH_EXPANDING = 3;

/** A member of a collection: its path, and its resource where the BMC sent that along. */
export interface Member {
  readonly path: string;
  readonly body: unknown;
}

/** How much may be read: members of one collection, and requests in all. */
export interface ReadLimits {
  readonly members: number;
  /** Counted down by each request; reading stops, without an error, at 0. */
  readonly requests: { left: number };
}

/** What `$expand` a BMC takes: `.` or `*` (DSP0266 section 7.3), or none. */
export type Expand = "." | "*" | "none";

/** Collections and their members, in as few requests as the BMC allows. */
export class Members {
  readonly #service: Service;
  readonly #log: Logger;
  #root: Resource<ServiceRoot> | undefined;
  #expand: Expand | undefined;

  constructor(service: Service, log: Logger, expand: Expand | undefined) {
    this.#service = service;
    this.#log = log;
    this.#expand = expand;
  }

  /** What was learned about `$expand`. */
  get expand(): Expand | undefined {
    return this.#expand;
  }

  /** The service root, read once. */
  async root(signal: AbortSignal): Promise<Resource<ServiceRoot>> {
    this.#root ??= await this.#service.get(SERVICE_ROOT, ServiceRoot, signal);
    const query = this.#root.value.ProtocolFeaturesSupported?.ExpandQuery;
    this.#expand ??= query?.NoLinks ? "." : query?.ExpandAll ? "*" : "none";
    return this.#root;
  }

  /** All members of a collection, page by page; undefined when there is no such collection. */
  async list(path: string, signal: AbortSignal, limits?: ReadLimits): Promise<readonly Member[] | undefined> {
    const most = limits?.members ?? Number.POSITIVE_INFINITY;
    const found: Member[] = [];
    const seen = new Set<string>();
    let next: string | undefined = path;
    while (next !== undefined && !seen.has(next) && seen.size < MOST_PAGES && spend(limits)) {
      seen.add(next);
      const page: Resource<Collection> | undefined = await this.#service.find(
        next,
        Collection,
        signal,
        MAX_PAGE_BYTES,
      );
      if (!page) return seen.size === 1 ? undefined : found;
      for (const body of page.value.Members) {
        const member = this.#member(body);
        if (member && found.length < most) found.push(member);
      }
      if (found.length >= most) break;
      const link = page.value["Members@odata.nextLink"] ?? page.value["@odata.nextLink"];
      next = this.#service.localPath(link);
    }
    return found;
  }

  /** How many members a collection has, with one request where it says so; undefined when there is none. */
  async count(path: string, signal: AbortSignal): Promise<number | undefined> {
    const page = await this.#service.find(path, Collection, signal, MAX_PAGE_BYTES);
    if (!page) return undefined;
    const { Members: members, "Members@odata.count": count } = page.value;
    const isWhole =
      page.value["Members@odata.nextLink"] === undefined && page.value["@odata.nextLink"] === undefined;
    if (isWhole) return members.length;
    return count ?? (await this.list(path, signal))?.length;
  }

  /**
   * The resources of a collection; undefined when there is no such collection. A member that is gone or is
   * something else than `schema` describes throws, or is left out where `limits` are given.
   */
  async read<T extends z.ZodMiniType>(
    path: string,
    schema: T,
    signal: AbortSignal,
    limits?: ReadLimits,
  ): Promise<readonly Resource<z.infer<T>>[] | undefined> {
    const members = await this.#listExpanded(path, signal, limits);
    if (!members) return undefined;
    const resources: Resource<z.infer<T>>[] = [];
    for (const member of members) {
      const resource = await this.#resource(member, schema, signal, limits);
      if (resource) resources.push(resource);
    }
    return resources;
  }

  /** The resource of one member, with a request only where the BMC did not send it along. */
  async #resource<T extends z.ZodMiniType>(
    member: Member,
    schema: T,
    signal: AbortSignal,
    limits: ReadLimits | undefined,
  ): Promise<Resource<z.infer<T>> | undefined> {
    try {
      if (member.body !== undefined) return parseResource(member.path, member.body, schema);
      return spend(limits) ? await this.#service.find(member.path, schema, signal) : undefined;
    } catch (error) {
      const { class: errorClass, message } = BmcError.from(error);
      if (!limits || !["protocol", "bmc", "unsupported"].includes(errorClass)) throw error;
      this.#log.debug({ path: member.path, reason: message }, "collection member skipped");
      return undefined;
    }
  }

  async #listExpanded(
    path: string,
    signal: AbortSignal,
    limits: ReadLimits | undefined,
  ): Promise<readonly Member[] | undefined> {
    if (this.#expand === undefined) {
      const plain = await this.list(path, signal, limits);
      const links = plain?.filter(({ body }) => body === undefined) ?? [];
      if (links.length < WORTH_EXPANDING || !spend(limits)) return plain;
      await this.root(signal);
      return await this.#tryExpanded(path, plain, signal, limits);
    }
    return await this.#tryExpanded(path, undefined, signal, limits);
  }

  /** The expanded collection, or the plain one where the BMC does not expand it after all. */
  async #tryExpanded(
    path: string,
    plain: readonly Member[] | undefined,
    signal: AbortSignal,
    limits: ReadLimits | undefined,
  ): Promise<readonly Member[] | undefined> {
    if (this.#expand === "." || this.#expand === "*") {
      try {
        const expanded = await this.list(`${path}?$expand=${this.#expand}`, signal, limits);
        if (expanded?.every(({ body }) => body !== undefined)) return expanded;
      } catch (error) {
        const { class: errorClass, message } = BmcError.from(error);
        if (!["protocol", "bmc", "unsupported"].includes(errorClass)) throw error;
        this.#log.debug({ path, reason: message }, "BMC does not expand a collection");
      }
      this.#expand = "none";
    }
    return plain ?? (await this.list(path, signal, limits));
  }

  #member(body: Readonly<Record<string, unknown>>): Member | undefined {
    const link = body["@odata.id"];
    const path = typeof link === "string" ? this.#service.localPath(link) : undefined;
    if (path === undefined) return undefined;
    const isWhole = Object.keys(body).some((key) => !key.startsWith("@odata."));
    return { path, body: isWhole ? body : undefined };
  }
}

function spend(limits: ReadLimits | undefined): boolean {
  if (!limits) return true;
  if (limits.requests.left <= 0) return false;
  limits.requests.left--;
  return true;
}
