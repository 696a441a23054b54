import * as z from "zod/mini";
import type { Logger } from "../../../../logger.ts";
import { concernsOnePart, incompleteList, type Unread } from "../../../operations/unread.ts";
import { lastPart } from "../service/paths.ts";
import { Collection, isIdentifying, ServiceRoot } from "../service/schema.ts";
import { parseResource, type Resource, type Service } from "../service/service.ts";
import { unreadable } from "./unreadable.ts";

export const SERVICE_ROOT = "/redfish/v1/";
/** Expanded collections contain whole resources. The largest known ones, full event logs, are smaller than this. */
const MAX_PAGE_BYTES = 8 * 1_048_576;
const MOST_PAGES = 100;
const TOO_MANY_REQUESTS = "reading it takes too many requests";
/** From this number of members on, reading the service root to learn about `$expand` saves a request. */
const WORTH_EXPANDING = 3;
/**
 * Fields that an abridged resource also has (DSP0266 section 9.5, and its kind and status), and that do not show its
 * contents.
 */
const NAMING = ["Id", "Name", "Description", "ChassisType", "Status"];

/** A member of a collection: its path, and its resource if the BMC included it. */
export interface Member {
  readonly path: string;
  readonly body: object | undefined;
}

/** Limits of a reading: the members of one collection, and the requests in total. */
export interface ReadLimits {
  readonly members: number;
  /** Counted down by each request; reading stops at 0. */
  readonly requests: { left: number };
  /** Called for each page or member that cannot be read, and once for those that a limit or the BMC omits. */
  readonly unread: (unread: Unread) => void;
  /**
   * Called with the members of each page as they are listed. True ends the reading; members after that do not count as
   * missing.
   */
  readonly isEnough?: (page: readonly object[]) => boolean;
  /** Whether members that need a request each are read from the highest number down, because the limit may omit some. */
  readonly highestFirst?: boolean;
}

/** The members of a collection, and the reasons why the list may be incomplete. */
interface Listing {
  readonly members: readonly Member[];
  readonly gaps: readonly Unread[];
}

/** The form of `$expand` that a BMC accepts: `.` or `*` (DSP0266 section 7.3), or none. */
export type Expand = "." | "*" | "none";

/** Reads collections and their members with as few requests as the BMC allows. */
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

  /** The learned form of `$expand`. */
  get expand(): Expand | undefined {
    return this.#expand;
  }

  /** The service root, which is read once; empty if it cannot be read. */
  async root(signal: AbortSignal): Promise<Resource<ServiceRoot>> {
    this.#root ??= await this.#readRoot(signal);
    const query = this.#root.value.ProtocolFeaturesSupported?.ExpandQuery;
    this.#expand ??= query?.NoLinks ? "." : query?.ExpandAll ? "*" : "none";
    return this.#root;
  }

  async #readRoot(signal: AbortSignal): Promise<Resource<ServiceRoot>> {
    try {
      return await this.#service.get(SERVICE_ROOT, ServiceRoot, signal);
    } catch (thrown) {
      const error = concernsOnePart(thrown);
      this.#log.debug({ path: SERVICE_ROOT, reason: error.message }, "service root not read");
      return { path: SERVICE_ROOT, value: {}, etag: undefined };
    }
  }

  /**
   * Lists all members of a collection, page by page; undefined if the collection does not exist. Missing members throw
   * `verify`, or are reported to `unread` if there are `limits`.
   */
  async list(path: string, signal: AbortSignal, limits?: ReadLimits): Promise<readonly Member[] | undefined> {
    const listing = await this.#pages(path, signal, limits);
    if (listing) this.#tell(listing.gaps, limits);
    return listing?.members;
  }

  async #pages(path: string, signal: AbortSignal, limits?: ReadLimits): Promise<Listing | undefined> {
    const most = limits?.members ?? Number.POSITIVE_INFINITY;
    const found: Member[] = [];
    const gaps: Unread[] = [];
    const seen = new Set<string>();
    const missing = (name: string, reason: string) => gaps.push({ name, reason });
    let counted = 0;
    let listed = 0;
    let isCut = false;
    let next: string | undefined = path;
    while (next !== undefined) {
      if (!spend(limits)) {
        missing(next, TOO_MANY_REQUESTS);
        break;
      }
      seen.add(next);
      let page: Resource<Collection> | undefined;
      try {
        page = await this.#service.findLinked(next, Collection, signal, MAX_PAGE_BYTES);
      } catch (thrown) {
        if (seen.size === 1 || !limits) throw thrown;
        missing(next, unreadable(thrown).message);
        break;
      }
      if (!page && seen.size === 1) return undefined;
      if (!page) {
        missing(next, "the BMC does not have this page, to which the one before refers");
        break;
      }
      const { Members: members = [], "Members@odata.count": count = 0 } = page.value;
      if (page.value.Members === undefined && page.value["Members@odata.count"] !== 0) {
        missing(next, "the answer has no Members");
      }
      counted = Math.max(counted, count);
      listed += members.length;
      for (const body of members) {
        const member = this.#member(body);
        if (member && found.length < most) found.push(member);
        else if (member) isCut = true;
        else missing(next, "a member has no link on this BMC");
      }
      if (limits?.isEnough?.(members)) return { members: found, gaps };
      const link: string | undefined = page.value["Members@odata.nextLink"] ?? page.value["@odata.nextLink"];
      if (found.length >= most) {
        isCut ||= link !== undefined || counted > most;
        break;
      }
      next = this.#service.localPath(link);
      if (link !== undefined && (next === undefined || seen.has(next) || seen.size === MOST_PAGES)) {
        missing(link, "the next page is on another host, or the pages do not end");
        break;
      }
    }
    // Overlapping pages omit members elsewhere.
    const known = seen.size > 1 ? new Set(found.map((member) => member.path)).size : listed;
    if (isCut) missing(path, `it has more than ${most} members`);
    else if (counted > known && gaps.length === 0) {
      missing(path, `the BMC counts ${counted} members and lists ${known}`);
    }
    return { members: found, gaps };
  }

  /** Counts the members of a collection, with one request if it contains the count; undefined if it does not exist. */
  async count(path: string, signal: AbortSignal): Promise<number | undefined> {
    const page = await this.#service.find(path, Collection, signal, MAX_PAGE_BYTES);
    if (!page) return undefined;
    const { Members: members, "Members@odata.count": count } = page.value;
    const isPaged =
      page.value["Members@odata.nextLink"] !== undefined || page.value["@odata.nextLink"] !== undefined;
    // Some BMCs count 0 and list entries; some list a part without a link to the next.
    if (members && !isPaged) return Math.max(members.length, count ?? 0);
    return count ?? (await this.list(path, signal))?.length;
  }

  /**
   * Reads the resources of a collection; undefined if it does not exist. A member that is gone is requested twice and then
   * left out. One that cannot be read, or that the BMC counts but does not list, throws, or is reported to `unread` if there
   * are `limits`.
   */
  async read<T extends z.ZodMiniType>(
    path: string,
    schema: T,
    signal: AbortSignal,
    limits?: ReadLimits,
  ): Promise<readonly Resource<z.infer<T>>[] | undefined> {
    const listing = await this.#listExpanded(path, signal, limits);
    if (!listing) return undefined;
    const resources: Resource<z.infer<T>>[] = [];
    for (const member of limits?.highestFirst ? highestFirst(listing.members) : listing.members) {
      const resource = await this.#resource(member, schema, signal, limits);
      if (resource === "unspent") {
        this.#tell([{ name: path, reason: TOO_MANY_REQUESTS }], limits);
        break;
      }
      if (resource) resources.push(resource);
    }
    this.#tell(listing.gaps, limits);
    return resources;
  }

  /** Reports gaps, or throws if nothing else would: a part must not look like the whole. */
  #tell(gaps: readonly Unread[], limits: ReadLimits | undefined): void {
    for (const gap of gaps) {
      this.#log.debug({ path: gap.name, reason: gap.reason }, "collection incomplete");
      if (!limits) throw incompleteList("not all of a collection is listed", gaps);
      limits.unread(gap);
    }
  }

  /** The resource of one member. It needs a request only if the BMC did not include it, or only without contents. */
  async #resource<T extends z.ZodMiniType>(
    { path, body }: Member,
    schema: T,
    signal: AbortSignal,
    limits: ReadLimits | undefined,
  ): Promise<Resource<z.infer<T>> | "unspent" | undefined> {
    try {
      if (body !== undefined && hasFields(body, schema)) return parseResource(path, body, schema);
      if (!spend(limits)) return "unspent";
      const found = await this.#service.findLinked(path, schema, signal);
      return found ?? (body === undefined ? undefined : parseResource(path, body, schema));
    } catch (thrown) {
      if (!limits) throw thrown;
      const { message: reason } = unreadable(thrown);
      this.#log.debug({ path, reason }, "collection member skipped");
      limits.unread({ name: path, reason });
      return undefined;
    }
  }

  async #listExpanded(
    path: string,
    signal: AbortSignal,
    limits: ReadLimits | undefined,
  ): Promise<Listing | undefined> {
    if (this.#expand === undefined) {
      const plain = await this.#pages(path, signal, limits);
      const links = plain?.members.filter(({ body }) => body === undefined) ?? [];
      if (links.length < WORTH_EXPANDING || !spend(limits)) return plain;
      await this.root(signal);
      return await this.#tryExpanded(path, plain, signal, limits);
    }
    return await this.#tryExpanded(path, undefined, signal, limits);
  }

  /** The expanded collection, or the plain one if the BMC does not expand all of it. */
  async #tryExpanded(
    path: string,
    plain: Listing | undefined,
    signal: AbortSignal,
    limits: ReadLimits | undefined,
  ): Promise<Listing | undefined> {
    let expanded: Listing | undefined;
    if (this.#expand === "." || this.#expand === "*") {
      try {
        expanded = await this.#pages(`${path}?$expand=${this.#expand}`, signal, limits);
        if (expanded && isExpanded(expanded, plain, limits)) return expanded;
      } catch (thrown) {
        const error = concernsOnePart(thrown);
        this.#log.debug({ path, reason: error.message }, "BMC does not expand a collection");
      }
      // A BMC that omits members of one collection may do so with any other.
      this.#expand = "none";
    }
    const listing = plain ?? (await this.#pages(path, signal, limits));
    if (!listing || !expanded) return listing;
    const bodies = new Map(expanded.members.map((member) => [member.path, member]));
    const members = listing.members.map((member) => bodies.get(member.path) ?? member);
    const listed = new Set(members.map((member) => member.path));
    const more = expanded.members.filter(({ path: link }) => !listed.has(link)).length;
    const gap = { name: path, reason: `with $expand the BMC lists ${more} more` };
    return { members, gaps: more > 0 ? [...listing.gaps, gap] : listing.gaps };
  }

  #member(body: Readonly<Record<string, unknown>>): Member | undefined {
    const link = body["@odata.id"];
    const path = typeof link === "string" ? this.#service.localPath(link) : undefined;
    if (path === undefined) return undefined;
    const isWhole = Object.keys(body).some((key) => !key.startsWith("@odata."));
    return { path, body: isWhole ? body : undefined };
  }
}

/** Sorts by number, from the highest down; keeps the order if one has no number. */
function highestFirst(members: readonly Member[]): readonly Member[] {
  const numberOf = ({ path }: Member) => Number(lastPart(path));
  const isNumbered = members.every((member) => !Number.isNaN(numberOf(member)));
  return isNumbered ? members.toSorted((a, b) => numberOf(b) - numberOf(a)) : members;
}

/** Whether every member is a resource, and none is missing that the BMC counts or lists without `$expand`. */
function isExpanded({ members, gaps }: Listing, plain: Listing | undefined, limits: ReadLimits | undefined) {
  const isCut = limits !== undefined && members.length >= limits.members;
  const isWhole = isCut || (gaps.length === 0 && members.length >= (plain?.members.length ?? 0));
  return isWhole && members.every(({ body }) => body !== undefined);
}

/** Whether an included member has its identifying fields and any field of `schema`. */
function hasFields(body: object, schema: z.ZodMiniType): boolean {
  const shape: Readonly<Record<string, z.core.$ZodType>> =
    schema instanceof z.ZodMiniObject ? schema.shape : {};
  const known = Object.keys(shape);
  if (known.some((name) => isIdentifying(shape[name]) && !(name in body))) return false;
  const telling = known.filter((name) => !name.startsWith("@") && !NAMING.includes(name));
  return telling.length === 0 || telling.some((name) => name in body);
}

/** Counts a request for `path`. Returns false, and reports it to `unread`, if it exceeds the limits. */
export function maySend(path: string, limits: ReadLimits): boolean {
  if (spend(limits)) return true;
  limits.unread({ name: path, reason: TOO_MANY_REQUESTS });
  return false;
}

function spend(limits: ReadLimits | undefined): boolean {
  if (!limits) return true;
  if (limits.requests.left <= 0) return false;
  limits.requests.left--;
  return true;
}
