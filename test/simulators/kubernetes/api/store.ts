import { expired } from "./failure.ts";
import type { KubeObject } from "./object.ts";
import { keyOf, type ResourceType } from "./resource-type.ts";

export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

/** One write, as history keeps it. The objects are never changed afterwards. */
export interface Change {
  readonly type: ChangeType;
  readonly revision: number;
  readonly object: KubeObject;
  /** What was there before; undefined for what was added. */
  readonly previous: KubeObject | undefined;
}

type Listener = (change: Change) => void;

interface Shelf {
  readonly type: ResourceType;
  readonly objects: Map<string, KubeObject>;
  readonly history: Change[];
  /** Whether they are deaf while the kind is muted. */
  readonly watchers: Map<Listener, boolean>;
  /** Changes up to this revision are forgotten. */
  forgotten: number;
  muted: boolean;
}

/**
 * All objects of the cluster under one revision counter, as etcd keeps them, with the history that watches and
 * consistent lists need.
 */
export class ObjectStore {
  readonly #shelves = new Map<string, Shelf>();
  readonly #observers = new Set<(type: ResourceType, change: Change) => void>();
  readonly #historyLimit: number;
  #revision = 1;

  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Told of every change of every kind, muted or not. */
  observe(observer: (type: ResourceType, change: Change) => void): void {
    this.#observers.add(observer);
  }

  find(type: ResourceType, namespace: string, name: string): KubeObject | undefined {
    return this.#shelf(type).objects.get(place(namespace, name));
  }

  /** Of all namespaces for "", by namespace and name. */
  list(type: ResourceType, namespace: string): KubeObject[] {
    return inOrder(this.#shelf(type).objects, namespace);
  }

  /** As it was at `revision`. Throws 410 when that is forgotten. */
  listAt(type: ResourceType, namespace: string, revision: number): KubeObject[] {
    this.checkKnown(type, revision);
    const shelf = this.#shelf(type);
    const objects = new Map(shelf.objects);
    for (const { type: change, revision: at, object, previous } of shelf.history.toReversed()) {
      if (at <= revision) break;
      const key = placeOf(object);
      if (change === "ADDED") objects.delete(key);
      else if (previous) objects.set(key, previous);
    }
    return inOrder(objects, namespace);
  }

  /** Every kind with its objects. */
  *everything(): Iterable<readonly [ResourceType, KubeObject]> {
    for (const { type, objects } of this.#shelves.values())
      for (const object of objects.values()) yield [type, object];
  }

  /** Adds or replaces; gives the object with its new resourceVersion. */
  put(type: ResourceType, object: KubeObject): KubeObject {
    const shelf = this.#shelf(type);
    const previous = shelf.objects.get(placeOf(object));
    const stored = this.#stamped(object);
    shelf.objects.set(placeOf(stored), stored);
    this.#record(shelf, previous ? "MODIFIED" : "ADDED", stored, previous);
    return stored;
  }

  /** Gives the object as it went, with the revision of its end. */
  delete(type: ResourceType, object: KubeObject): KubeObject {
    const shelf = this.#shelf(type);
    const previous = shelf.objects.get(placeOf(object));
    shelf.objects.delete(placeOf(object));
    const last = this.#stamped(object);
    this.#record(shelf, "DELETED", last, previous);
    return last;
  }

  /**
   * Calls `listener` for every change after `revision`, those that were made before first, in the same turn. Throws 410
   * when they are forgotten. The caller ends it with what is returned.
   */
  watch(type: ResourceType, revision: number, listener: Listener, canMiss = true): () => void {
    this.checkKnown(type, revision);
    const shelf = this.#shelf(type);
    for (const change of shelf.history) if (change.revision > revision) listener(change);
    shelf.watchers.set(listener, canMiss);
    return () => shelf.watchers.delete(listener);
  }

  /** Throws 410 when what changed since `revision` is forgotten. */
  checkKnown(type: ResourceType, revision: number): void {
    const { forgotten } = this.#shelf(type);
    if (revision < forgotten) throw tooOld(revision, forgotten);
  }

  /** Forgets what changed: every resourceVersion but the newest is too old. */
  forget(): void {
    this.#revision++;
    for (const shelf of this.#shelves.values()) {
      shelf.history.length = 0;
      shelf.forgotten = this.#revision;
    }
  }

  /** Open watches of the kind see nothing until `unmute`, and never what happened meanwhile. */
  mute(type: ResourceType): void {
    this.#shelf(type).muted = true;
  }

  unmute(type: ResourceType): void {
    this.#shelf(type).muted = false;
  }

  #record(shelf: Shelf, type: ChangeType, object: KubeObject, previous: KubeObject | undefined): void {
    const change = { type, revision: this.#revision, object, previous };
    shelf.history.push(change);
    if (shelf.history.length > this.#historyLimit)
      shelf.forgotten = shelf.history.shift()?.revision ?? shelf.forgotten;
    for (const [watcher, canMiss] of shelf.watchers) if (!(shelf.muted && canMiss)) watcher(change);
    for (const observer of this.#observers) observer(shelf.type, change);
  }

  #stamped(object: KubeObject): KubeObject {
    this.#revision++;
    const stamped = structuredClone(object);
    stamped.metadata.resourceVersion = String(this.#revision);
    return stamped;
  }

  #shelf(type: ResourceType): Shelf {
    const key = keyOf(type);
    const found = this.#shelves.get(key);
    if (found) return found;
    const made: Shelf = {
      type,
      objects: new Map(),
      history: [],
      watchers: new Map(),
      forgotten: 0,
      muted: false,
    };
    this.#shelves.set(key, made);
    return made;
  }
}

function tooOld(revision: number, oldest: number) {
  return expired(`too old resource version: ${revision} (${oldest})`);
}

function inOrder(objects: ReadonlyMap<string, KubeObject>, namespace: string): KubeObject[] {
  const prefix = namespace === "" ? "" : `${namespace}/`;
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort();
  return keys.flatMap((key) => objects.get(key) ?? []);
}

export function placeOf({ metadata }: KubeObject): string {
  return place(metadata.namespace ?? "", metadata.name ?? "");
}

function place(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
