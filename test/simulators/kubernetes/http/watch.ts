import type { ServerResponse } from "node:http";
import { type ApiFailure, invalid } from "../api/failure.ts";
import type { JsonObject, KubeObject } from "../api/object.ts";
import { apiVersionOf, type ResourceType } from "../api/resource-type.ts";
import type { Matches } from "../api/selectors.ts";
import type { Change, ObjectStore } from "../api/store.ts";
import { FieldErrors } from "../validation/field-errors.ts";
import { parseNumber, parseResourceVersion, parseSelectors } from "./list.ts";

/** What the real server allows when the client asks for no other end. */
const LONGEST_WATCH_SECONDS = 1_800;
const BOOKMARK_INTERVAL_MS = 60_000;

export interface WatchRequest {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly query: URLSearchParams;
  /** The cluster's own: it misses nothing, and no test ends it. */
  readonly controlPlane: boolean;
}

/** One open watch: JSON lines until the client, the time or a test ends it. */
export class WatchStream {
  readonly type: ResourceType;
  readonly controlPlane: boolean;
  readonly #store: ObjectStore;
  readonly #response: ServerResponse;
  readonly #namespace: string;
  readonly #query: URLSearchParams;
  readonly #matches: Matches;
  readonly #timers: NodeJS.Timeout[] = [];
  #unsubscribe: () => void = () => undefined;
  #silent = false;
  #sent = 0;

  /** Throws what is wrong with the query. */
  constructor(
    store: ObjectStore,
    response: ServerResponse,
    { type, namespace, query, controlPlane }: WatchRequest,
  ) {
    this.type = type;
    this.controlPlane = controlPlane;
    this.#store = store;
    this.#response = response;
    this.#namespace = namespace;
    this.#query = query;
    this.#matches = parseSelectors(type, query);
    checkInitialEvents(query);
    parseResourceVersion(query.get("resourceVersion"));
  }

  /** Throws 410 when the version is forgotten and nothing was sent. */
  open(headers: Readonly<Record<string, string>>): void {
    const version = parseResourceVersion(this.#query.get("resourceVersion"));
    const initial = this.#query.get("sendInitialEvents") === "true";
    const from = initial || version <= 0 ? this.#store.revision : version;
    this.#store.checkKnown(this.type, from);
    this.#response.writeHead(200, { "Content-Type": "application/json", ...headers });
    this.#response.flushHeaders();
    this.#response.once("close", () => this.close());
    this.#sent = from;
    this.#unsubscribe = this.#store.watch(
      this.type,
      from,
      (change) => this.#onChange(change),
      !this.controlPlane,
    );
    if (initial || version <= 0)
      for (const object of this.#store.list(this.type, this.#namespace))
        if (this.#matches(object)) this.#write("ADDED", object);
    if (initial) this.#bookmark({ "k8s.io/initial-events-end": "true" });
    this.#schedule();
  }

  /** Tells how far the watch is, where the client wants to know. */
  bookmark(): void {
    if (this.#query.get("allowWatchBookmarks") === "true") this.#bookmark();
  }

  /** The version is too old: the one thing that a watch says after a 200. */
  expire(failure: ApiFailure): void {
    this.#response.writeHead(200, { "Content-Type": "application/json" });
    this.#response.end(`${JSON.stringify({ type: "ERROR", object: failure.toStatus() })}\n`);
  }

  /** No byte from now on, while the connection stays. */
  silence(): void {
    this.#silent = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** Without a word, as when a connection breaks. */
  drop(): void {
    this.close();
    this.#response.destroy();
  }

  close(): void {
    this.#unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #onChange(change: Change): void {
    const { object, previous } = change;
    if (this.#namespace !== "" && object.metadata.namespace !== this.#namespace) return;
    const before = previous !== undefined && this.#matches(previous);
    const now = change.type !== "DELETED" && this.#matches(object);
    this.#sent = change.revision;
    if (now) this.#write(before ? "MODIFIED" : "ADDED", object);
    // One that left the selection goes as it was last seen, with the version of its leaving.
    else if (before && previous)
      this.#write("DELETED", change.type === "DELETED" ? object : leaving(previous, object));
  }

  #bookmark(annotations?: Readonly<Record<string, string>>): void {
    const metadata = {
      resourceVersion: String(Math.max(this.#sent, this.#store.revision)),
      creationTimestamp: null,
      ...(annotations ? { annotations } : {}),
    };
    this.#write("BOOKMARK", { kind: this.type.kind, apiVersion: apiVersionOf(this.type), metadata });
  }

  #schedule(): void {
    const asked = parseNumber(this.#query.get("timeoutSeconds"));
    const seconds = asked > 0 ? asked : LONGEST_WATCH_SECONDS;
    const end = setTimeout(() => {
      this.bookmark();
      this.close();
      this.#response.end();
    }, seconds * 1_000);
    this.#timers.push(
      end,
      setInterval(() => this.bookmark(), BOOKMARK_INTERVAL_MS),
    );
    for (const timer of this.#timers) timer.unref();
  }

  #write(type: string, object: KubeObject | JsonObject): void {
    if (!this.#silent) this.#response.write(`${JSON.stringify({ type, object })}\n`);
  }
}

function leaving(previous: KubeObject, now: KubeObject): KubeObject {
  const { resourceVersion = "" } = now.metadata;
  return { ...previous, metadata: { ...previous.metadata, resourceVersion } };
}

function checkInitialEvents(query: URLSearchParams): void {
  if (!query.has("sendInitialEvents") || query.get("resourceVersionMatch") === "NotOlderThan") return;
  const errors = new FieldErrors();
  errors.forbidden(
    "resourceVersionMatch",
    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
  );
  throw invalid({ kind: "ListOptions", group: "meta.k8s.io" }, "", errors.causes);
}
