import { request as undiciRequest } from "undici";
import * as z from "zod/mini";
import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { defined } from "../../../shared/defined.ts";
import { LineSplitter } from "../../../shared/line-splitter.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { version } from "../../../shared/version.ts";
import { type ClusterAccess, openAccess } from "./cluster-access.ts";
import { apiVersionOf, type Kind, type ObjectName, pathOf, resourceName } from "./kinds.ts";
import { errorOfAnswer, errorOfEvent, KubernetesError } from "./kubernetes-error.ts";

/** Parses an object. Describe only the fields that are used. */
export type Schema<T> = z.core.$ZodType<T>;

export interface ClusterOptions {
  /** See `openAccess`. */
  readonly kubeconfig?: string;
  /** The worker's own namespace. Default: the pod's, the context's, or `default`. */
  readonly namespace?: string;
  readonly clock?: Clock;
  /** For one response; watches and logs have their own limits. */
  readonly requestTimeoutMs?: number;
}

export interface Selection {
  /** Absent is all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOf<T> {
  readonly items: readonly T[];
  /** Where a watch continues. */
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

export type PatchType = "merge" | "json";

export interface RemoveOptions {
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
  /** Only the object with this UID, not a later one with the same name. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface LogOptions {
  readonly container: string;
  /** Follows the log until the container ends. */
  readonly follow?: boolean;
  /** A longer log loses its newest bytes. */
  readonly limitBytes?: number;
  /** Each line begins with its time (RFC 3339, nanoseconds) and a space. */
  readonly timestamps?: boolean;
  /** Only lines from that time on, in RFC 3339 with whole seconds: API servers drop fractions. */
  readonly sinceTime?: string;
  /** Only the last lines. */
  readonly tailLines?: number;
}

/** An RBAC permission. */
export interface Right {
  readonly verb: string;
  readonly kind: Kind;
  readonly subresource?: string;
  /** Absent is all namespaces. */
  readonly namespace?: string;
}

interface Sending {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  /** For messages, such as `create jobs.batch in tink-system`. */
  readonly doing: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array> & { text(): Promise<string>; dump(): Promise<void> };
}

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
};

/** The page size of client-go and kubectl, which bounds each response. */
const PAGE = 500;
/** API servers end watches after 30 to 60 minutes; a shorter watch detects a dead connection sooner. */
const WATCH_SECONDS = 290;
/** A watch that lasts longer than it should by this much is dead. */
const WATCH_SLACK_MS = 15_000;
const LONGEST_EVENT = 8 * 1024 * 1024;
/** For reads, which are safe to repeat. */
const READ_ATTEMPTS = 4;
const AGAIN: Backoff = { firstMs: 250, maxMs: 5_000, jitter: 0.5 };
/** A longer Retry-After is not waited for. */
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
  /** Of the worker's own objects. */
  readonly namespace: string;
  readonly #access: ClusterAccess;
  readonly #clock: Clock;
  readonly #requestTimeoutMs: number;

  constructor(
    access: ClusterAccess,
    { namespace, clock = systemClock, requestTimeoutMs = 30_000 }: ClusterOptions = {},
  ) {
    this.#access = access;
    this.server = access.server;
    this.namespace = namespace ?? access.namespace ?? "default";
    this.#clock = clock;
    this.#requestTimeoutMs = requestTimeoutMs;
  }

  /** Reads the connection settings. Sends no request. */
  static async open(options: ClusterOptions = {}): Promise<Cluster> {
    return new Cluster(await openAccess(options.kubeconfig), options);
  }

  async get<T>(
    kind: Kind,
    { namespace, name }: ObjectName,
    schema: Schema<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const doing = `get ${resourceName(kind)} ${namespace}/${name}`;
    return this.#read({ method: "GET", path: pathOf(kind, namespace, name), doing }, schema, signal);
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
      if (thrown instanceof KubernetesError && thrown.reason === "not-found") return undefined;
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
    do {
      const sending: Sending = {
        method: "GET",
        path: pathOf(kind, namespace),
        query: { ...selectors, limit: String(PAGE), continue: next },
        doing,
      };
      const page = await this.#read(sending, List, signal);
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
    return this.#write(
      {
        method: "POST",
        path: pathOf(kind, namespace),
        query: { fieldValidation: "Strict" },
        body: { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object },
        doing: `create ${resourceName(kind)} in ${namespace}`,
      },
      schema,
      signal,
    );
  }

  /** Replaces the object. With `metadata.resourceVersion`, a concurrent change is a `conflict`. */
  async replace<T>(
    kind: Kind,
    { namespace, name }: ObjectName,
    object: Readonly<Record<string, unknown>>,
    schema: Schema<T>,
    signal: AbortSignal,
  ): Promise<T> {
    return this.#write(
      {
        method: "PUT",
        path: pathOf(kind, namespace, name),
        query: { fieldValidation: "Strict" },
        body: { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object },
        doing: `update ${resourceName(kind)} ${namespace}/${name}`,
      },
      schema,
      signal,
    );
  }

  /** RFC 7386 or RFC 6902; `subresource` patches only the status. */
  async patch<T>(
    kind: Kind,
    { namespace, name }: ObjectName,
    {
      type,
      body,
      subresource,
    }: { readonly type: PatchType; readonly body: unknown; readonly subresource?: "status" },
    schema: Schema<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const what = subresource === undefined ? resourceName(kind) : `${resourceName(kind)}/${subresource}`;
    return this.#write(
      {
        method: "PATCH",
        path: pathOf(kind, namespace, name, subresource),
        query: { fieldValidation: "Strict" },
        body,
        contentType: PATCH_TYPES[type],
        doing: `patch ${what} ${namespace}/${name}`,
      },
      schema,
      signal,
    );
  }

  /** Resolves to whether the object existed. With Background and Foreground it may remain for a while. */
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
      await this.#write(
        { method: "DELETE", path: pathOf(kind, namespace, name), body, doing },
        z.unknown(),
        signal,
      );
      return true;
    } catch (thrown) {
      if (thrown instanceof KubernetesError && thrown.reason === "not-found") return false;
      throw thrown;
    }
  }

  /**
   * Calls `onEvent` for each change after `resourceVersion`. Resolves when the API ends the watch, as it does every
   * few minutes: continue from the last version. Rejects as `expired` if the version is too old, and as `timeout` if
   * the connection is dead.
   */
  async watch(
    kind: Kind,
    { namespace, ...selectors }: Selection,
    resourceVersion: string,
    { onOpen, onEvent }: WatchCallbacks,
    signal: AbortSignal,
  ): Promise<void> {
    const doing = `watch ${resourceName(kind)}${placeOf(namespace)}`;
    const sending: Sending = {
      method: "GET",
      path: pathOf(kind, namespace),
      query: {
        ...selectors,
        watch: "true",
        resourceVersion,
        allowWatchBookmarks: "true",
        timeoutSeconds: String(WATCH_SECONDS),
      },
      doing,
    };
    await this.#bounded(doing, WATCH_SECONDS * 1_000 + WATCH_SLACK_MS, signal, async (bound) => {
      const answer = await this.#open(sending, bound);
      onOpen?.();
      let wrong: unknown;
      const lines = new LineSplitter(LONGEST_EVENT, (line) => {
        if (wrong !== undefined || line === "") return;
        try {
          onEvent(eventOf(line, doing));
        } catch (thrown) {
          wrong = thrown;
        }
      });
      for await (const chunk of answer.body) {
        lines.push(chunk);
        if (wrong !== undefined) throw wrong;
      }
    });
  }

  /** Reads a container's log, as fast as `onChunk` resolves. */
  async log(
    { namespace, name }: ObjectName,
    { container, follow = false, limitBytes, timestamps = false, sinceTime, tailLines }: LogOptions,
    onChunk: (chunk: Uint8Array) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const doing = `read the log of pod ${namespace}/${name}`;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
    const query = {
      container,
      follow: follow ? "true" : undefined,
      limitBytes: limitBytes === undefined ? undefined : String(limitBytes),
      timestamps: timestamps ? "true" : undefined,
      sinceTime,
      tailLines: tailLines === undefined ? undefined : String(tailLines),
    };
    try {
      const answer = await this.#open({ method: "GET", path, query, doing }, signal);
      for await (const chunk of answer.body) await onChunk(chunk);
    } catch (thrown) {
      throw this.#translate(thrown, doing, signal);
    }
  }

  /** Checks a permission of the worker (SelfSubjectAccessReview, which every user may create). */
  async may({ verb, kind, subresource, namespace }: Right, signal: AbortSignal): Promise<boolean> {
    const resourceAttributes = {
      verb,
      group: kind.group,
      version: kind.version,
      resource: kind.resource,
      ...defined({ subresource, namespace }),
    };
    const review = await this.#write(
      {
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        body: {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectAccessReview",
          spec: { resourceAttributes },
        },
        doing: `ask whether ${verb} ${resourceName(kind)} is allowed`,
      },
      Review,
      signal,
    );
    return review.status?.allowed ?? false;
  }

  /** Resolves to a version such as `v1.37.0`. */
  async version(signal: AbortSignal): Promise<string> {
    const sending = { method: "GET", path: "/version", doing: "ask the version" } as const;
    return (await this.#read(sending, ServerVersion, signal)).gitVersion;
  }

  async close(): Promise<void> {
    await this.#access.close();
  }

  /** Retries transient failures. */
  async #read<T>(sending: Sending, schema: Schema<T>, signal: AbortSignal): Promise<T> {
    return this.#ask(sending, schema, signal, ({ passing }) => passing);
  }

  /** Retries only what the API certainly did not execute. */
  async #write<T>(sending: Sending, schema: Schema<T>, signal: AbortSignal): Promise<T> {
    return this.#ask(sending, schema, signal, ({ reason }) => reason === "too-many-requests");
  }

  async #ask<T>(
    sending: Sending,
    schema: Schema<T>,
    signal: AbortSignal,
    again: (error: KubernetesError) => boolean,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#bounded(sending.doing, this.#requestTimeoutMs, signal, async (bound) => {
          const answer = await this.#open(sending, bound);
          return parse(schema, jsonOf(await answer.body.text(), sending.doing), sending.doing);
        });
      } catch (thrown) {
        if (!(thrown instanceof KubernetesError) || !again(thrown) || attempt >= READ_ATTEMPTS) throw thrown;
        const waitMs = Math.max(backoffMs(AGAIN, attempt), thrown.retryAfterMs ?? 0);
        if (waitMs > LONGEST_RETRY_AFTER_MS) throw thrown;
        await this.#clock.sleep(waitMs, signal);
      }
    }
  }

  /** Resolves to a successful response, with its body unread. */
  async #open(sending: Sending, signal: AbortSignal): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#send(sending, signal);
      if (answer.status < 300) return answer;
      const text = await answer.body.text();
      // The token may have expired before it was reread: try once more with a fresh one.
      if (answer.status === 401) this.#access.forget();
      if (answer.status === 401 && attempt === 1) continue;
      const { "retry-after": retryAfter } = answer.headers;
      throw errorOfAnswer(
        sending.doing,
        answer.status,
        text,
        Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
      );
    }
  }

  async #send(
    { method, path, query = {}, body, contentType }: Sending,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { headers, dispatcher } = await this.#access.credentials();
    const parameters = Object.entries(query).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const search = new URLSearchParams(parameters).toString();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const { statusCode: status, ...answer } = await undiciRequest(
      `${this.server}${path}${search === "" ? "" : `?${search}`}`,
      {
        method,
        dispatcher,
        signal,
        headersTimeout: this.#requestTimeoutMs,
        bodyTimeout: 0,
        headers: {
          ...headers,
          accept: "application/json",
          "user-agent": `pbnj-worker/${version}`,
          ...defined({ "content-type": text && (contentType ?? "application/json") }),
        },
        ...defined({ body: text }),
      },
    );
    return { status, headers: answer.headers, body: answer.body };
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
      return new KubernetesError(
        "timeout",
        `${doing}: no answer from ${this.server} within ${thrown.afterMs} ms`,
      );
    }
    const text = textOf(thrown);
    return new KubernetesError("unreachable", `${doing}: ${this.server} does not answer: ${text}`, {
      cause: thrown,
    });
  }
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
