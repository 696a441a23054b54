import type { Clock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import { withoutEndSlashes } from "../../end-slashes.ts";
import { INPUT_BYTES } from "../../input-limits.ts";
import { isTooDeep } from "../../json-depth.ts";
import type { EtagForm } from "../../recording/recording.ts";
import type { RedfishReader } from "../providers/redfish/redfish-reader.ts";
import type { HttpAnswer } from "../providers/redfish/service/http-client.ts";

/** The limits of a recording. */
export interface RecordingLimits {
  readonly requests: number;
  readonly bytes: number;
  readonly ms: number;
}

interface Refused {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A tree as it was read, including secrets. */
export interface ReadTree {
  readonly resources: Map<string, unknown>;
  readonly refusals: Map<string, Refused>;
  readonly times: Map<string, number>;
  readonly unread: { readonly path: string; readonly reason: string }[];
  /** The BMC's form of entity tags. */
  etag: EtagForm | undefined;
  /** How far the BMC's clock is ahead. */
  clockSkewMs: number | undefined;
  requests: number;
  bytes: number;
}

const ROOT = "/redfish/v1";
/** Resources about the protocol instead of the machine, resources that grant access to a BMC, and endless measurements. */
const SKIPPED =
  /\/(JsonSchemas|Schemas|\$metadata|odata|Registries|Sessions|Subscriptions|MetricReports|MetricReportDefinitions|MetricDefinitions|Triggers|TaskMonitors)(\/|$)/i;
const ENTRY = /^(.*\/Entries)\/[^/]+$/i;
const MOST_ENTRIES = 100;
const MOST_PAGES = 100;
const MOST_BYTES = INPUT_BYTES.recordedTree;
const LANES = 2;
/** After this many consecutive failures, the BMC needs a pause. */
const MOST_FAILURES = 5;
const BUSY_MS = 2_000;
const LONGEST_BUSY_MS = 5_000;

export { LANES as RECORDING_LANES };

/** Reads the Redfish tree by following its links, two requests at a time. Rejects if the login is refused. */
export async function readTree(
  reader: RedfishReader,
  limits: RecordingLimits,
  { clock, signal, progress }: TreeContext,
): Promise<ReadTree> {
  const walk = new TreeWalk(reader, limits, { clock, signal, progress });
  await walk.run();
  return walk.tree;
}

interface TreeContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  progress(read: number, known: number): void;
}

class TreeWalk {
  readonly tree: ReadTree = {
    resources: new Map(),
    refusals: new Map(),
    times: new Map(),
    unread: [],
    etag: undefined,
    clockSkewMs: undefined,
    requests: 0,
    bytes: 0,
  };
  readonly #reader: RedfishReader;
  readonly #limits: RecordingLimits;
  readonly #context: TreeContext;
  readonly #endMs: number;
  readonly #known = new Set<string>([ROOT]);
  readonly #entries = new Map<string, number>();
  readonly #queue: string[] = [ROOT];
  #failures = 0;

  constructor(reader: RedfishReader, limits: RecordingLimits, context: TreeContext) {
    this.#reader = reader;
    this.#limits = limits;
    this.#context = context;
    this.#endMs = context.clock.monotonicMs() + limits.ms;
  }

  async run(): Promise<void> {
    // A refused login is sent only once: the second lane starts when the first was accepted.
    await this.#next(0);
    await this.#next(0);
    let isReading = 0;
    const lane = async (number: number) => {
      for (;;) {
        if (this.#queue.length > 0 && this.#limit() === undefined) {
          isReading++;
          await this.#next(number).finally(() => isReading--);
        } else if (isReading === 0 || this.#limit() !== undefined) return;
        else await this.#context.clock.sleep(5, this.#context.signal);
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
    await this.#registries();
    const reason = this.#limit();
    if (reason !== undefined && this.#queue.length > 0) {
      this.tree.unread.push({
        path: this.#queue[0] ?? ROOT,
        reason: `${reason}: ${this.#queue.length} not read`,
      });
    }
  }

  /** Why nothing more is read. */
  #limit(): string | undefined {
    const { requests, bytes } = this.#limits;
    if (this.tree.requests >= requests) return `limit of ${requests} requests`;
    if (this.tree.bytes >= bytes) return `limit of ${bytes} bytes`;
    if (this.#context.clock.monotonicMs() >= this.#endMs) return `limit of ${this.#limits.ms / 1_000} s`;
    return this.#failures >= MOST_FAILURES ? `${MOST_FAILURES} requests in a row failed` : undefined;
  }

  async #next(lane: number): Promise<void> {
    const path = this.#queue.shift();
    if (path === undefined) return;
    const body = await this.#read(path, lane);
    if (body === undefined) return;
    const whole = await this.#pages(path, body, lane);
    this.tree.resources.set(path, whole);
    this.#follow(whole, path);
    this.#context.progress(this.tree.resources.size, this.#known.size);
  }

  /** Reads a path; undefined, and recorded as a gap, if there is nothing to read. */
  async #read(path: string, lane: number, isAgain = false): Promise<unknown> {
    const { clock, signal } = this.#context;
    const startedMs = clock.monotonicMs();
    this.tree.requests++;
    let answer: HttpAnswer;
    try {
      answer = await this.#reader.get(path, lane, signal, MOST_BYTES);
      this.#failures = 0;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = BmcError.from(thrown);
      const isLogin = error.class === "auth" && error.refused !== "right";
      if (isLogin || error.class === "tls" || this.tree.resources.size === 0) throw error;
      if (error.class === "auth") this.tree.refusals.set(path, { status: 403, headers: {}, body: undefined });
      else this.#failures++;
      this.tree.unread.push({ path, reason: error.message });
      return undefined;
    }
    const ms = clock.monotonicMs() - startedMs;
    this.tree.times.set(path, ms);
    const { status, headers, body } = answer;
    this.tree.etag ??= etagForm(headers["etag"], body);
    if ((status === 503 || status === 429) && !isAgain) {
      const askedMs = Number(headers["retry-after"] ?? Number.NaN) * 1_000;
      await clock.sleep(Math.min(Number.isNaN(askedMs) ? BUSY_MS : askedMs, LONGEST_BUSY_MS), signal);
      return await this.#read(path, lane, true);
    }
    if (status === 200 && typeof body === "object" && body !== null && !isTooDeep(body)) {
      this.tree.bytes += JSON.stringify(body).length;
      const { DateTime: shownTime } = body as { DateTime?: unknown };
      const atMs = /\/Managers\/[^/]+$/.test(path) ? Date.parse(String(shownTime)) : Number.NaN;
      if (!Number.isNaN(atMs)) this.tree.clockSkewMs ??= atMs - clock.now();
      return body;
    }
    if (status !== 404) this.tree.refusals.set(path, { status, headers, body });
    if (status === 200) this.tree.unread.push({ path, reason: "it is not a JSON object" });
    return undefined;
  }

  /** A collection with all of its pages. */
  async #pages(path: string, first: unknown, lane: number): Promise<unknown> {
    const whole = first as Record<string, unknown>;
    const members = whole["Members"];
    if (!Array.isArray(members)) return whole;
    const seen = new Set<string>();
    let next = this.#nextPage(whole);
    while (next !== undefined && !seen.has(next) && seen.size < MOST_PAGES && this.#limit() === undefined) {
      seen.add(next);
      const page = (await this.#read(next, lane)) as Record<string, unknown> | undefined;
      if (!Array.isArray(page?.["Members"])) break;
      members.push(...page["Members"]);
      next = this.#nextPage(page);
    }
    if (next !== undefined) this.tree.unread.push({ path, reason: "not all of its pages were read" });
    delete whole["Members@odata.nextLink"];
    delete whole["@odata.nextLink"];
    return whole;
  }

  #nextPage(page: Readonly<Record<string, unknown>>): string | undefined {
    const link = page["Members@odata.nextLink"] ?? page["@odata.nextLink"];
    return typeof link === "string" ? this.#reader.localPath(link) : undefined;
  }

  #follow(value: unknown, own: string): void {
    if (Array.isArray(value)) for (const entry of value) this.#follow(entry, own);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    // A member that the BMC included needs no request.
    const isWhole = "Id" in value;
    for (const [name, entry] of Object.entries(value)) {
      const isLink = (name === "@odata.id" && !isWhole) || name === "@Redfish.ActionInfo";
      if (isLink && typeof entry === "string") this.#add(entry, own);
      else this.#follow(entry, own);
    }
  }

  #add(link: string, own: string): void {
    const local = this.#reader.localPath(link)?.replace(/#.*$/s, "");
    const path = withoutEndSlashes(local ?? "");
    if (path === "" || path === own || this.#known.has(path)) return;
    if (!path.startsWith(`${ROOT}/`) || path.includes("?") || SKIPPED.test(path)) return;
    const [, log] = ENTRY.exec(path) ?? [];
    if (log !== undefined) {
      const count = this.#entries.get(log) ?? 0;
      this.#entries.set(log, count + 1);
      if (count === MOST_ENTRIES) {
        this.tree.unread.push({ path: log, reason: `it has more than ${MOST_ENTRIES} entries` });
      }
      if (count >= MOST_ENTRIES) return;
    }
    this.#known.add(path);
    this.#queue.push(path);
  }

  /** Reads only the registries that a resource names for its attributes. */
  async #registries(): Promise<void> {
    const root = this.tree.resources.get(ROOT) as Record<string, { "@odata.id"?: unknown }> | undefined;
    const collection = root?.["Registries"]?.["@odata.id"];
    const names = new Set(
      [...this.tree.resources.values()].flatMap((body) => {
        const { AttributeRegistry: name } = body as { AttributeRegistry?: unknown };
        return typeof name === "string" ? [nameOf(name)] : [];
      }),
    );
    if (typeof collection !== "string" || names.size === 0 || this.#limit() !== undefined) return;
    const listed = await this.#keep(this.#reader.localPath(collection));
    const files = linksIn(listed).filter((path) => names.has(nameOf(path.split("/").at(-1) ?? "")));
    for (const path of files) {
      const file = (await this.#keep(this.#reader.localPath(path))) as { Location?: unknown } | undefined;
      const places = (Array.isArray(file?.Location) ? file.Location : []) as readonly Place[];
      const place = places.find(({ Language }) => /^en/i.test(String(Language))) ?? places[0];
      if (typeof place?.Uri === "string") await this.#keep(this.#reader.localPath(place.Uri));
    }
  }

  async #keep(path: string | undefined): Promise<unknown> {
    if (path === undefined || this.#limit() !== undefined) return undefined;
    const key = withoutEndSlashes(path);
    const body = await this.#read(path, 0);
    if (body !== undefined) this.tree.resources.set(key, await this.#pages(key, body, 0));
    return this.tree.resources.get(key);
  }
}

function etagForm(header: string | undefined, body: unknown): EtagForm | undefined {
  if (header === undefined) return Object.hasOwn(Object(body), "@odata.etag") ? "property" : undefined;
  if (header.startsWith("W/")) return "weak";
  if (header.startsWith('""')) return "doubled";
  return header.endsWith('-gzip"') ? "gzip" : "strong";
}

interface Place {
  readonly Language?: unknown;
  readonly Uri?: unknown;
}

function linksIn(collection: unknown): readonly string[] {
  const members = (collection as { Members?: unknown } | undefined)?.Members;
  if (!Array.isArray(members)) return [];
  return members.flatMap((member) => {
    const link = (member as { "@odata.id"?: unknown } | null)?.["@odata.id"];
    return typeof link === "string" ? [withoutEndSlashes(link)] : [];
  });
}

/** The name without the version, which vendors write in several ways. */
function nameOf(name: string): string {
  return name.toLowerCase().replace(/\.(v?\d|json$).*$/s, "");
}
