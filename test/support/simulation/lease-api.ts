import type { Selection, WatchEvent } from "../../../worker/kubernetes/client/cluster.ts";
import { KubernetesError } from "../../../worker/kubernetes/client/kubernetes-error.ts";

type Verb = "create" | "update" | "patch" | "delete" | "list" | "watch";

interface LeaseObject {
  readonly metadata: Readonly<Record<string, unknown>> & {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
  readonly status?: unknown;
}

type Sent = Partial<Omit<LeaseObject, "metadata">> & {
  readonly metadata?: Readonly<Record<string, unknown>>;
};

interface Happening {
  readonly version: number;
  readonly event: WatchEvent & { readonly object: LeaseObject };
}

interface PatchStep {
  readonly op: string;
  readonly path: string;
  readonly value: unknown;
}

interface Watcher {
  readonly matches: (lease: LeaseObject) => boolean;
  readonly onEvent: (event: WatchEvent, bytes: number) => void;
}

/** What the API adds to a Lease of this worker: `managedFields`, `creationTimestamp` and the frame of an event (measured). */
const ADDED_BYTES = 560;

/**
 * The Leases of an API server, as far as replicas see them: versions, preconditions, watches in order. What it refuses it
 * refuses as the real one does; the network between it and a replica is `Connection`'s matter.
 */
export class LeaseApi {
  readonly #leases = new Map<string, LeaseObject>();
  readonly #history: Happening[] = [];
  readonly #watchers = new Set<Watcher>();
  readonly #nowMs: () => number;
  #version = 0;
  #oldest = 0;
  /** What was asked, and when. */
  readonly requests: { readonly verb: Verb; readonly atMs: number }[] = [];
  watchEvents = 0;
  watchBytes = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get leases(): Iterable<LeaseObject> {
    return this.#leases.values();
  }

  create(sent: Sent): LeaseObject {
    this.#count("create");
    const name = String(sent.metadata?.["name"]);
    if (this.#leases.has(name)) throw new KubernetesError("already-exists", `${name} exists`);
    return this.#set(name, `uid-${this.#version + 1}`, sent);
  }

  replace(name: string, sent: Sent): LeaseObject {
    this.#count("update");
    const before = this.#leases.get(name)?.metadata;
    const { uid, resourceVersion } = sent.metadata ?? {};
    // A PUT with a uid is refused with a conflict where there is no such Lease, too.
    if (before?.uid !== uid || before?.resourceVersion !== resourceVersion) {
      throw new KubernetesError("conflict", `${name} was changed`);
    }
    return this.#set(name, before?.uid ?? "", sent);
  }

  find(name: string): LeaseObject | undefined {
    return this.#leases.get(name);
  }

  /** RFC 6902, as far as Jobs need it: a failed `test` is an invalid request. */
  patch(name: string, steps: readonly PatchStep[]): LeaseObject {
    this.#count("patch");
    const before = this.#leases.get(name);
    if (!before) throw new KubernetesError("not-found", `${name} is gone`);
    const after = structuredClone(before) as object;
    for (const { op, path, value } of steps) {
      const keys = path
        .split("/")
        .slice(1)
        .map((key) => key.replaceAll("~1", "/"));
      const last = keys.pop() ?? "";
      let inside = after as Record<string, unknown>;
      for (const key of keys) inside = inside[key] as Record<string, unknown>;
      if (op !== "test") inside[last] = value;
      else if (inside[last] !== value) throw new KubernetesError("invalid", `${path} is another`);
    }
    return this.#set(name, before.metadata.uid, after as LeaseObject);
  }

  remove(
    name: string,
    { uid, resourceVersion }: { uid?: string; resourceVersion?: string | undefined },
  ): boolean {
    this.#count("delete");
    const before = this.#leases.get(name);
    if (!before) return false;
    const { metadata } = before;
    if ((uid ?? metadata.uid) !== metadata.uid) throw new KubernetesError("conflict", `${name} is another`);
    if ((resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion) {
      throw new KubernetesError("conflict", `${name} was changed`);
    }
    this.#leases.delete(name);
    this.#version += 1;
    const object = { ...before, metadata: { ...metadata, resourceVersion: String(this.#version) } };
    this.#tell({ type: "gone", object, resourceVersion: String(this.#version) });
    return true;
  }

  list(selection: Selection): { readonly items: readonly LeaseObject[]; readonly resourceVersion: string } {
    this.#count("list");
    const matches = matcherOf(selection);
    const items = [...this.#leases.values()]
      .filter(matches)
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    return { items, resourceVersion: String(this.#version) };
  }

  /** Gives what ends it. Throws `expired` when the past is gone. */
  watch(selection: Selection, resourceVersion: string, onEvent: Watcher["onEvent"]): () => void {
    this.#count("watch");
    const from = Number(resourceVersion);
    if (from < this.#oldest) throw new KubernetesError("expired", "too old resource version");
    const watcher: Watcher = { matches: matcherOf(selection), onEvent };
    for (const { version, event } of this.#history) if (version > from) this.#send(watcher, event);
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #set(name: string, uid: string, { metadata, ...rest }: Sent): LeaseObject {
    this.#version += 1;
    const resourceVersion = String(this.#version);
    const object = { ...rest, metadata: { ...metadata, name, uid, resourceVersion } } as LeaseObject;
    this.#leases.set(name, object);
    this.#tell({ type: "set", object, resourceVersion });
    return object;
  }

  #tell(event: Happening["event"]): void {
    this.#history.push({ version: this.#version, event });
    if (this.#history.length > 20_000) this.#oldest = this.#history.splice(0, 10_000).at(-1)?.version ?? 0;
    for (const watcher of this.#watchers) this.#send(watcher, event);
  }

  #send(watcher: Watcher, event: Happening["event"]): void {
    if (!watcher.matches(event.object)) return;
    const bytes = JSON.stringify(event.object).length + ADDED_BYTES;
    this.watchEvents += 1;
    this.watchBytes += bytes;
    watcher.onEvent(event, bytes);
  }

  #count(verb: Verb): void {
    this.requests.push({ verb, atMs: this.#nowMs() });
  }
}

/** `a`, `a=b` and `a in (b,c)`, joined by commas, and `metadata.name=a` of fields. */
function matcherOf({ labelSelector = "", fieldSelector }: Selection): (lease: LeaseObject) => boolean {
  const wanted = [...labelSelector.matchAll(/([^,=\s]+)(?:=([^,]*)| in \(([^)]*)\))?(?:,|$)/g)].map(
    ([, key = "", one, several]) => {
      const values = several?.split(",") ?? (one === undefined ? undefined : [one]);
      return { key, values: values && new Set(values) };
    },
  );
  const name = fieldSelector?.replace("metadata.name=", "");
  return ({ metadata }) =>
    (name === undefined || metadata.name === name) &&
    wanted.every(({ key, values }) => {
      const value = metadata.labels?.[key];
      return value !== undefined && (values?.has(value) ?? true);
    });
}
