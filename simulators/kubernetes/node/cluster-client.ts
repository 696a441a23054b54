import { createInterface } from "node:readline";
import { Agent, type Dispatcher, request } from "undici";
import { parse } from "yaml";
import { defined } from "../../../shared/defined.ts";
import type { JsonObject, KubeObject } from "../api/object.ts";
import { MERGE_PATCH } from "../api/patch.ts";
import type { ClusterAccess } from "./cluster-access.ts";

const REQUEST_TIMEOUT_MS = 20_000;

/** A refusal of the API. */
export class ClusterError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, text: string) {
    const { reason = "Unknown", message = text.trim() } = statusOf(text);
    super(message);
    this.name = "ClusterError";
    this.status = status;
    this.reason = reason;
  }
}

interface WatchedEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: KubeObject;
}

interface Sending {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}

/** The API calls of nodes, controllers and tests, for any API server. */
export class ClusterClient {
  readonly #access: ClusterAccess;
  readonly #agent: Agent;

  constructor(access: ClusterAccess) {
    this.#access = access;
    const { ca, cert, key } = access;
    this.#agent = new Agent({ allowH2: false, connect: defined({ ca, cert, key }) });
  }

  get(path: string): Promise<KubeObject> {
    return this.#ask({ method: "GET", path });
  }

  /** Reads an object. Resolves to undefined if there is none. */
  find(path: string): Promise<KubeObject | undefined> {
    return unlessMissing(this.get(path));
  }

  /** Reads a log. */
  async text(path: string): Promise<string> {
    const answer = await this.#send({ method: "GET", path }, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
    return answer.body.text();
  }

  create(path: string, object: object): Promise<KubeObject> {
    return this.#ask({ method: "POST", path, body: object });
  }

  patch(path: string, patch: object, contentType = MERGE_PATCH): Promise<KubeObject> {
    return this.#ask({ method: "PATCH", path, body: patch, contentType });
  }

  replace(path: string, object: object): Promise<KubeObject> {
    return this.#ask({ method: "PUT", path, body: object });
  }

  /** Deletes an object. Resolves even if there is none. */
  async delete(path: string, options: object = {}): Promise<void> {
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...options };
    await unlessMissing(this.#ask({ method: "DELETE", path, body }));
  }

  async list(
    path: string,
  ): Promise<{ readonly items: readonly KubeObject[]; readonly resourceVersion: string }> {
    const { metadata, items } = await this.get(path);
    return { items: items as KubeObject[], resourceVersion: metadata.resourceVersion ?? "" };
  }

  /**
   * Yields changes after the version until the server or `signal` ends the watch. Without a version, yields existing objects
   * first.
   */
  async *watch(
    path: string,
    resourceVersion: string,
    signal: AbortSignal,
    more: Readonly<Record<string, string>> = {},
  ): AsyncGenerator<WatchedEvent> {
    const query = new URLSearchParams({ watch: "true", resourceVersion, ...more });
    const { body } = await this.#send({ method: "GET", path: `${path}?${query}` }, signal);
    for await (const line of createInterface({ input: body })) yield JSON.parse(line) as WatchedEvent;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #ask(sending: Sending): Promise<KubeObject> {
    const answer = await this.#send(sending, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
    return (await answer.body.json()) as KubeObject;
  }

  async #send(
    { method, path, body, contentType = "application/json" }: Sending,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { url, token } = this.#access;
    const answer = await request(`${url}${path}`, {
      method,
      dispatcher: this.#agent,
      signal,
      bodyTimeout: 0,
      headers: {
        "User-Agent": "kubelet-of-tests",
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "Content-Type": contentType }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (answer.statusCode >= 300) throw new ClusterError(answer.statusCode, await answer.body.text());
    return answer;
  }
}

/** Returns the access of a kubeconfig's current context, which must not need other files. */
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
  const decoded = (value: string | undefined) => value && Buffer.from(value, "base64").toString("utf8");
  return {
    url: cluster["server"],
    ...defined({
      ca: decoded(cluster["certificate-authority-data"]),
      cert: decoded(user["client-certificate-data"]),
      key: decoded(user["client-key-data"]),
      token: user["token"],
    }),
  };
}

function statusOf(text: string): { readonly reason?: string; readonly message?: string } {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return {};
  }
}

async function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (thrown) {
    if (thrown instanceof ClusterError && thrown.status === 404) return undefined;
    throw thrown;
  }
}
