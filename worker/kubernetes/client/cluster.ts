import { type Dispatcher, errors, request as undiciRequest } from "undici";
import * as z from "zod/mini";
import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import { ownClockNote } from "../../../shared/certificate-clock.ts";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { defined } from "../../../shared/defined.ts";
import { INPUT_BYTES } from "../../../shared/input-limits.ts";
import { LineSplitter } from "../../../shared/line-splitter.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { version } from "../../../shared/version.ts";
import { type ClusterAccess, openAccess, openIdentity } from "./cluster-access.ts";
import { apiVersionOf, KINDS, type Kind, type ObjectName, pathOf, resourceName } from "./kinds.ts";
import { errorOfAnswer, errorOfEvent, isKubernetesError, KubernetesError } from "./kubernetes-error.ts";

/** Parses an object. Describe only the fields that are used. */
export type Schema<T> = z.core.$ZodType<T>;

interface ConnectionOptions {
  /** The context of the kubeconfig to use. Default: the current one. */
  readonly contextName?: string | undefined;
  /** The worker's own namespace. Default: the pod's, the context's, or `default`. */
  readonly namespace?: string | undefined;
  readonly clock?: Clock;
  /** Time limit for one response; watches and logs have their own limits. */
  readonly requestTimeoutMs?: number;
  /** A watch ends after this time without an event or a bookmark; API servers send bookmarks every minute or two. */
  readonly watchSilenceMs?: number;
}

export interface ClusterOptions extends ConnectionOptions {
  /** Default: the pod's service account, `$KUBECONFIG`, or `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
}

/** The requests of a `Cluster` that a watch of objects sends. */
export interface WatchedCluster {
  readonly list: Cluster["list"];
  readonly watch: Cluster["watch"];
}

export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOf<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

/** A change in a watch; a `bookmark` only advances the resource version. */
export type WatchEvent =
  | { readonly type: "set" | "gone"; readonly object: unknown; readonly resourceVersion: string }
  | { readonly type: "bookmark"; readonly resourceVersion: string };

export interface WatchCallbacks {
  /** The API accepted the watch. */
  readonly onOpen?: () => void;
  readonly onEvent: (event: WatchEvent) => void;
}

export type PatchOptions = {
  readonly body: unknown;
  readonly subresource?: "status";
} & (
  | { readonly type: "merge" | "json"; readonly fieldManager?: never }
  /** Server-side apply: takes over fields from other managers, and removes fields that this manager no longer applies. */
  | { readonly type: "apply"; readonly fieldManager: string }
);

export interface RemoveOptions {
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number | undefined;
  readonly uid?: string;
  readonly resourceVersion?: string | undefined;
}

export interface LogOptions {
  readonly container: string;
  readonly follow?: boolean;
  /** Limits the log to its first bytes. */
  readonly limitBytes?: number;
  /** Prefixes each line with its time (RFC 3339, nanoseconds) and a space. */
  readonly timestamps?: boolean;
  /** Skips lines before this time (RFC 3339, whole seconds: API servers drop fractions). */
  readonly sinceTime?: string;
  readonly tailLines?: number;
}

export interface Right {
  readonly verb: string;
  readonly kind: Kind;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

interface Sending {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Parameters that are undefined or false are not sent. */
  readonly query?: object;
  readonly body?: unknown;
  readonly contentType?: string;
  /** The most milliseconds between two parts of the response. Default: no limit. */
  readonly bodyTimeout?: number;
  /** Describes the request in errors, such as `create jobs.batch in tink-system`. */
  readonly doing: string;
}

const PATCH_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
} as const;
const STRICT = { fieldValidation: "Strict" };

/** The page size of client-go and kubectl, which bounds each response. */
const PAGE = 500;
/** API servers end watches after 30 to 60 minutes, and some proxies after five. */
const WATCH_SECONDS = 290;
const LONGEST_EVENT = INPUT_BYTES.clusterEvent;
/** Far more than a page needs. A limit is needed because a Secret of a user may name the server. */
const LONGEST_ANSWER = INPUT_BYTES.clusterAnswer;
const MOST_PAGES = 2_000;
const READ_ATTEMPTS = 4;
const RETRY: Backoff = { firstMs: 250, maxMs: 5_000, jitter: 0.5 };
/** The request fails at once if the API asks for a longer wait. */
const LONGEST_RETRY_AFTER_MS = 30_000;

const Meta = z.object({
  metadata: z.optional(z.object({ resourceVersion: z.optional(z.string()) })),
});
const List = z.object({
  metadata: z.object({ resourceVersion: z.optional(z.string()), continue: z.optional(z.string()) }),
  items: z.nullable(z.array(z.unknown())),
});
const Event = z.object({ type: z.string(), object: z.unknown() });
const Review = z.object({ status: z.optional(z.object({ allowed: z.boolean() })) });
const ServerVersion = z.object({ gitVersion: z.string() });

/**
 * The part of the Kubernetes API that this worker needs. Every method rejects with a `KubernetesError`, or with the
 * signal's reason once that aborted. Reads are retried after transient failures. Writes are retried only after 429,
 * because after any other failure they may have been executed.
 */
export class Cluster {
  readonly server: string;
  readonly namespace: string;
  readonly #access: ClusterAccess;
  readonly #clock: Clock;
  readonly #requestTimeoutMs: number;
  #onWatchOpened: (() => void) | undefined;
  readonly #watchSilenceMs: number;

  constructor(
    access: ClusterAccess,
    {
      namespace,
      clock = systemClock,
      requestTimeoutMs = 30_000,
      watchSilenceMs = 150_000,
    }: ClusterOptions = {},
  ) {
    this.#access = access;
    this.server = access.server;
    this.namespace = namespace ?? access.namespace ?? "default";
    this.#clock = clock;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#watchSilenceMs = watchSilenceMs;
  }

  /** Reads the connection settings. Sends no request. */
  static async open(options: ClusterOptions = {}): Promise<Cluster> {
    return new Cluster(await openAccess(options.kubeconfig, options.contextName), options);
  }

  /** Opens a kubeconfig that users of a cluster wrote, within the limits of `parseIdentityKubeconfig`. Sends no request. */
  static async openIdentity(text: string, options: ConnectionOptions = {}): Promise<Cluster> {
    return new Cluster(await openIdentity(text, options.contextName), options);
  }

  async get<T>(
    kind: Kind,
    { namespace, name }: ObjectName,
    schema: Schema<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const doing = `get ${resourceName(kind)} ${namespace}/${name}`;
    return this.#ask({ method: "GET", path: pathOf(kind, namespace, name), doing }, schema, signal);
  }

  /** Resolves to undefined if the object does not exist. */
  async find<T>(
    kind: Kind,
    name: ObjectName,
    schema: Schema<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await this.get(kind, name, schema, signal);
    } catch (thrown) {
      if (isKubernetesError(thrown, "not-found")) return undefined;
      throw thrown;
    }
  }

  /** Lists all pages. Rejects with a `KubernetesError` if the schema rejects an item. */
  async list<T>(
    kind: Kind,
    { namespace, ...selectors }: Selection,
    schema: Schema<T>,
    signal: AbortSignal,
  ): Promise<ListOf<T>> {
    const doing = `list ${resourceName(kind)}${placeOf(namespace)}`;
    const items: T[] = [];
    let resourceVersion = "";
    let next: string | undefined;
    let pages = 0;
    do {
      pages += 1;
      if (pages > MOST_PAGES)
        throw new KubernetesError("unexpected", `${doing}: more than ${MOST_PAGES} pages`);
      const query = { ...selectors, limit: PAGE, continue: next };
      const page = await this.#ask(
        { method: "GET", path: pathOf(kind, namespace), query, doing },
        List,
        signal,
      );
      for (const item of page.items ?? []) items.push(parse(schema, item, doing));
      resourceVersion = page.metadata.resourceVersion ?? "";
      next = page.metadata.continue || undefined;
    } while (next !== undefined);
    return { items, resourceVersion };
  }

  /**
   * Adds `apiVersion` and `kind`. `already-exists` may mean that an earlier request succeeded and its response was
   * lost.
   */
  async create<T>(
    kind: Kind,
    namespace: string,
    object: Readonly<Record<string, unknown>>,
    schema: Schema<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object };
    const doing = `create ${resourceName(kind)} in ${namespace}`;
    const path = pathOf(kind, namespace);
    return this.#ask({ method: "POST", path, query: STRICT, body, doing }, schema, signal);
  }

  /** Replaces the object. With `metadata.resourceVersion`, a concurrent change is a `conflict`. */
  async replace<T>(
    kind: Kind,
    { namespace, name }: ObjectName,
    object: Readonly<Record<string, unknown>>,
    schema: Schema<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object };
    const doing = `update ${resourceName(kind)} ${namespace}/${name}`;
    const path = pathOf(kind, namespace, name);
    return this.#ask({ method: "PUT", path, query: STRICT, body, doing }, schema, signal);
  }

  /** Sends a merge patch (RFC 7386), a JSON patch (RFC 6902) or a server-side apply; `subresource` patches only the status. */
  async patch<T>(
    kind: Kind,
    { namespace, name }: ObjectName,
    { type, body, subresource, fieldManager }: PatchOptions,
    schema: Schema<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const what = subresource === undefined ? resourceName(kind) : `${resourceName(kind)}/${subresource}`;
    const doing = `patch ${what} ${namespace}/${name}`;
    const path = pathOf(kind, namespace, name, subresource);
    const contentType = PATCH_TYPES[type];
    const query = { ...STRICT, fieldManager, force: type === "apply" };
    return this.#ask({ method: "PATCH", path, query, body, contentType, doing }, schema, signal);
  }

  /** Resolves to whether the object existed. With Background and Foreground propagation it may remain for a while. */
  async remove(
    kind: Kind,
    { namespace, name }: ObjectName,
    { propagation, gracePeriodSeconds, uid, resourceVersion }: RemoveOptions,
    signal: AbortSignal,
  ): Promise<boolean> {
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      // JSON omits what is undefined.
      propagationPolicy: propagation,
      gracePeriodSeconds,
      preconditions: (uid ?? resourceVersion) && { uid, resourceVersion },
    };
    const doing = `delete ${resourceName(kind)} ${namespace}/${name}`;
    try {
      const path = pathOf(kind, namespace, name);
      await this.#ask({ method: "DELETE", path, body, doing }, z.unknown(), signal);
      return true;
    } catch (thrown) {
      if (isKubernetesError(thrown, "not-found")) return false;
      throw thrown;
    }
  }

  /**
   * Calls `onEvent` for each change after `resourceVersion`. Resolves when the API ends the watch, which it does every
   * few minutes, or sends nothing for too long, because the connection may be dead: continue from the last version.
   * Rejects as `expired` if the version is too old.
   */
  async watch(
    kind: Kind,
    { namespace, ...selectors }: Selection,
    resourceVersion: string,
    { onOpen, onEvent }: WatchCallbacks,
    signal: AbortSignal,
  ): Promise<void> {
    const doing = `watch ${resourceName(kind)}${placeOf(namespace)}`;
    const path = pathOf(kind, namespace);
    const options = {
      watch: true,
      resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds: WATCH_SECONDS,
    };
    const query = { ...selectors, ...options };
    try {
      const bodyTimeout = this.#watchSilenceMs;
      const { body } = await this.#open({ method: "GET", path, query, doing, bodyTimeout }, signal);
      onOpen?.();
      this.#onWatchOpened?.();
      let wrong: unknown;
      const lines = new LineSplitter(LONGEST_EVENT, (line) => {
        if (wrong !== undefined || line === "") return;
        try {
          onEvent(eventOf(line, doing));
        } catch (thrown) {
          wrong = thrown;
        }
      });
      for await (const chunk of body) {
        lines.push(chunk);
        if (wrong !== undefined) throw wrong;
      }
    } catch (thrown) {
      if (!(thrown instanceof errors.BodyTimeoutError)) throw this.#translate(thrown, doing, signal);
    }
  }

  /** Calls the listener each time a watch has opened. */
  onWatchOpened(listener: () => void): void {
    this.#onWatchOpened = listener;
  }

  /** Reads a container's log. Waits for `onChunk` before it reads on. */
  async log(
    { namespace, name }: ObjectName,
    query: LogOptions,
    onChunk: (chunk: Uint8Array) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const doing = `read the log of pod ${namespace}/${name}`;
    const path = pathOf(KINDS.pod, namespace, name, "log");
    try {
      const { body } = await this.#open({ method: "GET", path, query, doing }, signal);
      for await (const chunk of body) await onChunk(chunk);
    } catch (thrown) {
      throw this.#translate(thrown, doing, signal);
    }
  }

  /** Checks a permission of the worker (SelfSubjectAccessReview, which every user may create). */
  async may({ verb, kind, subresource, namespace, name }: Right, signal: AbortSignal): Promise<boolean> {
    const { group, version, resource } = kind;
    // JSON omits what is undefined.
    const resourceAttributes = { verb, group, version, resource, subresource, namespace, name };
    const body = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    };
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const doing = `ask whether ${verb} ${resourceName(kind)} is allowed`;
    const review = await this.#ask({ method: "POST", path, body, doing }, Review, signal);
    return review.status?.allowed ?? false;
  }

  /** Resolves to a version such as `v1.37.0`. */
  async version(signal: AbortSignal): Promise<string> {
    const sending = { method: "GET", path: "/version", doing: "ask the version" } as const;
    return (await this.#ask(sending, ServerVersion, signal)).gitVersion;
  }

  async close(): Promise<void> {
    await this.#access.close();
  }

  /** Retries reads after transient failures, and writes only if the API certainly did not execute them. */
  async #ask<T>(sending: Sending, schema: Schema<T>, signal: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#bounded(sending.doing, this.#requestTimeoutMs, signal, async (bound) => {
          const answer = await this.#open(sending, bound);
          return parse(schema, jsonOf(await textOfBody(answer, sending.doing), sending.doing), sending.doing);
        });
      } catch (thrown) {
        if (!(thrown instanceof KubernetesError) || attempt >= READ_ATTEMPTS) throw thrown;
        const mayRepeat = sending.method === "GET" ? thrown.passing : thrown.reason === "too-many-requests";
        if (!mayRepeat) throw thrown;
        const waitMs = Math.max(backoffMs(RETRY, attempt), thrown.retryAfterMs ?? 0);
        if (waitMs > LONGEST_RETRY_AFTER_MS) throw thrown;
        await this.#clock.sleep(waitMs, signal);
      }
    }
  }

  /** Resolves to a successful response, with its body unread. */
  async #open(sending: Sending, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#send(sending, signal);
      const { statusCode: status, headers } = answer;
      if (status < 300) return answer;
      const text = await textOfBody(answer, sending.doing);
      // The token may have expired before it was reread: try once more with a fresh one.
      if (status === 401) this.#access.forget();
      if (status === 401 && attempt === 1) continue;
      const [retryAfter] = [headers["retry-after"]].flat();
      throw errorOfAnswer(sending.doing, status, text, retryAfter);
    }
  }

  async #send(
    { method, path, query = {}, body, contentType, bodyTimeout = 0 }: Sending,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { headers, dispatcher } = await this.#access.credentials();
    const sent = Object.entries(query).filter(([, value]) => value !== undefined && value !== false);
    const search = new URLSearchParams(
      sent.map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const text = body === undefined ? undefined : JSON.stringify(body);
    return undiciRequest(`${this.server}${path}${search === "" ? "" : `?${search}`}`, {
      method,
      dispatcher,
      signal,
      headersTimeout: this.#requestTimeoutMs,
      bodyTimeout,
      headers: {
        ...headers,
        accept: "application/json",
        "user-agent": `pbnj-worker/${version}`,
        ...defined({ "content-type": text && (contentType ?? "application/json") }),
      },
      body: text ?? null,
    });
  }

  async #bounded<T>(
    doing: string,
    timeoutMs: number,
    signal: AbortSignal,
    work: (bound: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      return await withTimeout(timeoutMs, signal, work);
    } catch (thrown) {
      throw this.#translate(thrown, doing, signal);
    }
  }

  #translate(thrown: unknown, doing: string, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (thrown instanceof KubernetesError) return thrown;
    if (thrown instanceof TimeoutReached) {
      const text = `${doing}: no answer from ${this.server} within ${thrown.afterMs} ms`;
      return new KubernetesError("timeout", text);
    }
    const text = `${doing}: ${this.server} does not answer: ${textOf(thrown)}${ownClockNote(thrown)}`;
    return new KubernetesError("unreachable", text, { cause: thrown });
  }
}

async function textOfBody({ body }: Dispatcher.ResponseData, doing: string): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > LONGEST_ANSWER) throw new KubernetesError("unexpected", `${doing}: the answer is too long`);
  }
  return Buffer.concat(chunks).toString();
}

function placeOf(namespace: string | undefined): string {
  return namespace === undefined ? " in all namespaces" : ` in ${namespace}`;
}

function parse<T>(schema: Schema<T>, value: unknown, doing: string): T {
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") || "the answer";
  throw new KubernetesError("unexpected", `${doing}: ${where} is not as expected: ${issue?.message}`);
}

function jsonOf(text: string, doing: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new KubernetesError("unexpected", `${doing}: the answer is not JSON`);
  }
}

function eventOf(line: string, doing: string): WatchEvent {
  const { type, object } = parse(Event, jsonOf(line, doing), doing);
  if (type === "ERROR") throw errorOfEvent(doing, object);
  const resourceVersion = parse(Meta, object, doing).metadata?.resourceVersion ?? "";
  switch (type) {
    case "ADDED":
    case "MODIFIED":
      return { type: "set", object, resourceVersion };
    case "DELETED":
      return { type: "gone", object, resourceVersion };
    case "BOOKMARK":
      return { type: "bookmark", resourceVersion };
    default:
      throw new KubernetesError("unexpected", `${doing}: an event of type ${type} is not expected`);
  }
}
