import type { ServerResponse } from "node:http";
import { ApiFailure } from "../api/failure.ts";
import type { JsonObject, KubeObject } from "../api/object.ts";
import { apiVersionOf, type ResourceType } from "../api/resource-types.ts";
import { type Matches, parseSelectors } from "../api/selectors.ts";
import type { Change, ObjectStore } from "../api/store.ts";

const BOOKMARK_INTERVAL_MS = 60_000;

export interface WatchRequest {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly query: URLSearchParams;
  /** Whether the watch belongs to the control plane: it misses no change, and tests cannot end it. */
  readonly controlPlane: boolean;
}

/** An open watch: sends JSON lines until the client, its timeout or a test ends it. */
export class WatchStream {
  readonly type: ResourceType;
  readonly controlPlane: boolean;
  readonly #store: ObjectStore;
  readonly #response: ServerResponse;
  readonly #namespace: string;
  readonly #matches: Matches;
  readonly #timers: NodeJS.Timeout[] = [];
  #unsubscribe: () => void = () => undefined;
  #silent = false;

  constructor(store: ObjectStore, response: ServerResponse, request: WatchRequest) {
    const { type, namespace, query, controlPlane } = request;
    this.type = type;
    this.controlPlane = controlPlane;
    this.#store = store;
    this.#response = response;
    this.#namespace = namespace;
    this.#matches = parseSelectors(query);
  }

  /** Opens the watch. With an expired version it sends the error and ends. Returns whether it stays open. */
  open(query: URLSearchParams): boolean {
    const version = Number(query.get("resourceVersion"));
    this.#response.writeHead(200, { "Content-Type": "application/json" });
    this.#response.flushHeaders();
    const from = version || this.#store.revision;
    try {
      this.#store.checkHistory(this.type, from);
    } catch (thrown) {
      if (!(thrown instanceof ApiFailure)) throw thrown;
      this.#write("ERROR", thrown.toStatus());
      this.#response.end();
      return false;
    }
    if (version === 0)
      for (const object of this.#store.list(this.type, this.#namespace))
        if (this.#matches(object)) this.#write("ADDED", object);
    this.#unsubscribe = this.#store.watch(this.type, from, !this.controlPlane, (change) =>
      this.#onChange(change),
    );
    const timeoutMs = Number(query.get("timeoutSeconds") ?? 1_800) * 1_000;
    this.#timers.push(setTimeout(() => this.#end(), timeoutMs).unref());
    if (query.get("allowWatchBookmarks") === "true")
      this.#timers.push(setInterval(() => this.#bookmark(), BOOKMARK_INTERVAL_MS).unref());
    return true;
  }

  /** Sends nothing more, but keeps the connection. */
  silence(): void {
    this.#silent = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** Breaks the connection. */
  drop(): void {
    this.close();
    this.#response.destroy();
  }

  close(): void {
    this.#unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #end(): void {
    this.close();
    this.#response.end();
  }

  #onChange({ type, object, previous }: Change): void {
    if (this.#namespace !== "" && object.metadata.namespace !== this.#namespace) return;
    const before = previous !== undefined && this.#matches(previous);
    const now = type !== "DELETED" && this.#matches(object);
    if (now) this.#write(before ? "MODIFIED" : "ADDED", object);
    else if (before) this.#write("DELETED", object);
  }

  #bookmark(): void {
    const metadata = { resourceVersion: String(this.#store.revision) };
    this.#write("BOOKMARK", { kind: this.type.kind, apiVersion: apiVersionOf(this.type), metadata });
  }

  #write(type: string, object: KubeObject | JsonObject): void {
    if (!this.#silent) this.#response.write(`${JSON.stringify({ type, object })}\n`);
  }
}
