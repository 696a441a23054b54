import { createInterface } from "node:readline";
import { Agent, type Dispatcher, request } from "undici";
import { parse } from "yaml";
import type { JsonObject, KubeObject } from "../api/object.ts";
import type { ClusterAccess } from "../cluster.ts";

const REQUEST_TIMEOUT_MS = 20_000;
const USER_AGENT = "kubelet-of-tests";

/** What the API said instead of doing it. */
export class ClusterError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.name = "ClusterError";
    this.status = status;
    this.reason = reason;
  }
}

export interface WatchedEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: KubeObject;
}

/** The few calls of the API by which nodes and controllers live, at any API server. */
export class ClusterClient {
  readonly #access: ClusterAccess;
  readonly #agent: Agent;

  constructor(access: ClusterAccess) {
    this.#access = access;
    const { ca, cert, key } = access;
    this.#agent = new Agent({
      connect: {
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
      },
    });
  }

  get(path: string): Promise<KubeObject> {
    return this.#ask("GET", path);
  }

  /** For logs: an answer that is no object. */
  async text(path: string): Promise<string> {
    const answer = await this.#send(
      "GET",
      path,
      undefined,
      undefined,
      AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    );
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw failure(answer.statusCode, text);
    return text;
  }

  /** Undefined when there is none. */
  async find(path: string): Promise<KubeObject | undefined> {
    return unless(404, this.get(path));
  }

  create(path: string, object: object): Promise<KubeObject> {
    return this.#ask("POST", path, object);
  }

  /** A merge patch. */
  patch(path: string, patch: object): Promise<KubeObject> {
    return this.#ask("PATCH", path, patch, "application/merge-patch+json");
  }

  /** Resolves also when it was gone before. */
  async delete(path: string, options: object = {}): Promise<void> {
    await unless(404, this.#ask("DELETE", path, { apiVersion: "v1", kind: "DeleteOptions", ...options }));
  }

  async list(
    path: string,
  ): Promise<{ readonly items: readonly KubeObject[]; readonly resourceVersion: string }> {
    const answer = (await this.#ask("GET", path)) as KubeObject & { items: KubeObject[] };
    return { items: answer.items, resourceVersion: answer.metadata.resourceVersion ?? "" };
  }

  /** What changes after the version, until the server or `signal` ends it. `more` is further query. */
  async *watch(
    path: string,
    resourceVersion: string,
    signal: AbortSignal,
    more = "",
  ): AsyncGenerator<WatchedEvent> {
    const query = new URLSearchParams({ watch: "true", resourceVersion, allowWatchBookmarks: "true" });
    const answer = await this.#send("GET", `${path}?${query}&${more}`, undefined, undefined, signal);
    if (answer.statusCode !== 200) throw failure(answer.statusCode, await answer.body.text());
    for await (const line of createInterface({ input: answer.body })) yield JSON.parse(line) as WatchedEvent;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #ask(
    method: Dispatcher.HttpMethod,
    path: string,
    body?: object,
    contentType?: string,
  ): Promise<KubeObject> {
    const answer = await this.#send(method, path, body, contentType, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw failure(answer.statusCode, text);
    return JSON.parse(text) as KubeObject;
  }

  #send(
    method: Dispatcher.HttpMethod,
    path: string,
    body: object | undefined,
    contentType: string | undefined,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { url, token } = this.#access;
    return request(`${url}${path}`, {
      method,
      dispatcher: this.#agent,
      signal,
      bodyTimeout: 0,
      headers: {
        "User-Agent": USER_AGENT,
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "Content-Type": contentType ?? "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

/** The access that a kubeconfig's current context gives, when all of it is written within. */
export function accessFromKubeconfig(text: string): ClusterAccess {
  const config = parse(text) as {
    clusters: { name: string; cluster: Record<string, string> }[];
    users: { name: string; user: Record<string, string> }[];
    contexts: { name: string; context: { cluster: string; user: string } }[];
    "current-context": string;
  };
  const context = config.contexts.find(({ name }) => name === config["current-context"])?.context;
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users.find(({ name }) => name === context?.user)?.user ?? {};
  if (!cluster?.["server"]) throw new Error("the kubeconfig's current context names no server");
  const embedded = (value: string | undefined) =>
    value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
  const parts = {
    ca: embedded(cluster["certificate-authority-data"]),
    cert: embedded(user["client-certificate-data"]),
    key: embedded(user["client-key-data"]),
    token: user["token"],
  };
  const given = Object.entries(parts).filter(([, value]) => value !== undefined);
  return { url: cluster["server"], ...Object.fromEntries(given) };
}

function failure(status: number, text: string): ClusterError {
  try {
    const { reason, message } = JSON.parse(text) as JsonObject;
    return new ClusterError(status, String(reason), String(message));
  } catch {
    return new ClusterError(status, "Unknown", text.trim());
  }
}

async function unless<T>(status: number, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (thrown) {
    if (thrown instanceof ClusterError && thrown.status === status) return undefined;
    throw thrown;
  }
}
