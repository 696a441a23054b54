import { expired } from "./failure.ts";
import type { KubeObject } from "./object.ts";
import { apiVersionOf, type ResourceType } from "./resource-types.ts";

/** One write, whose objects never change afterwards. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly object: KubeObject;
  /** The previous object; undefined if the object is new. */
  readonly previous: KubeObject | undefined;
}

type Listener = (change: Change) => void;

/** The objects of one kind. */
interface Collection {
  readonly type: ResourceType;
  readonly objects: Map<string, KubeObject>;
  readonly history: Change[];
  /** The watchers, with whether each misses changes while the kind is muted. */
  readonly watchers: Map<Listener, boolean>;
  /** The revision up to which the history has no changes. */
  expiredRevision: number;
  muted: boolean;
}

const HISTORY_LIMIT = 10_000;

/** All objects under one revision counter, with the history from which watches resume, as in etcd. */
export class ObjectStore {
  readonly #collections = new Map<string, Collection>();
  readonly #observers: Listener[] = [];
  #revision = 1;

  get revision(): number {
    return this.#revision;
  }

  /** Calls the observer for every change of every kind, even while it is muted. */
  observe(observer: Listener): void {
    this.#observers.push(observer);
  }

  find(type: ResourceType, namespace: string, name: string): KubeObject | undefined {
    return this.#collection(type).objects.get(`${namespace}/${name}`);
  }

  /** Lists by namespace and name. `""` lists all namespaces. */
  list(type: ResourceType, namespace: string): KubeObject[] {
    const { objects } = this.#collection(type);
    const keys = [...objects.keys()].filter((key) => namespace === "" || key.startsWith(`${namespace}/`));
    return keys.toSorted().flatMap((key) => objects.get(key) ?? []);
  }

  *everything(): Iterable<readonly [ResourceType, KubeObject]> {
    for (const { type, objects } of this.#collections.values())
      for (const object of objects.values()) yield [type, object];
  }

  /** Adds or replaces an object. Returns it with its new resourceVersion. */
  put(type: ResourceType, object: KubeObject): KubeObject {
    const { objects } = this.#collection(type);
    const previous = objects.get(keyOf(object));
    const stored = this.#nextVersion(object);
    objects.set(keyOf(stored), stored);
    this.#record(type, { type: previous ? "MODIFIED" : "ADDED", object: stored, previous });
    return stored;
  }

  /** Deletes an object. Returns it with the revision of its deletion. */
  delete(type: ResourceType, object: KubeObject): KubeObject {
    const { objects } = this.#collection(type);
    const previous = objects.get(keyOf(object));
    objects.delete(keyOf(object));
    const last = this.#nextVersion(object);
    this.#record(type, { type: "DELETED", object: last, previous });
    return last;
  }

  /** Calls `listener` for every change after `revision`, starting with past ones. Returns a function that ends the watch. */
  watch(type: ResourceType, revision: number, canMiss: boolean, listener: Listener): () => void {
    const { history, watchers } = this.#collection(type);
    for (const change of history) if (change.revision > revision) listener(change);
    watchers.set(listener, canMiss);
    return () => watchers.delete(listener);
  }

  /** Throws 410 if the changes since `revision` are no longer in the history. */
  checkHistory(type: ResourceType, revision: number): void {
    const { expiredRevision } = this.#collection(type);
    if (revision < expiredRevision)
      throw expired(`too old resource version: ${revision} (${expiredRevision})`);
  }

  expireHistory(): void {
    this.#revision++;
    for (const collection of this.#collections.values()) {
      collection.history.length = 0;
      collection.expiredRevision = this.#revision;
    }
  }

  /** Mutes a kind: its open watches never see the changes made while it is muted. */
  setMuted(type: ResourceType, muted: boolean): void {
    this.#collection(type).muted = muted;
  }

  #record(type: ResourceType, written: Omit<Change, "revision">): void {
    const collection = this.#collection(type);
    const { history, watchers, muted } = collection;
    const change = { ...written, revision: this.#revision };
    history.push(change);
    if (history.length > HISTORY_LIMIT)
      collection.expiredRevision = history.shift()?.revision ?? collection.expiredRevision;
    for (const [listener, canMiss] of watchers) if (!(muted && canMiss)) listener(change);
    for (const observer of this.#observers) observer(change);
  }

  #nextVersion(object: KubeObject): KubeObject {
    this.#revision++;
    const copy = structuredClone(object);
    copy.metadata.resourceVersion = String(this.#revision);
    return copy;
  }

  #collection(type: ResourceType): Collection {
    const key = `${apiVersionOf(type)}/${type.plural}`;
    const found = this.#collections.get(key);
    if (found) return found;
    const made: Collection = {
      type,
      objects: new Map(),
      history: [],
      watchers: new Map(),
      expiredRevision: 0,
      muted: false,
    };
    this.#collections.set(key, made);
    return made;
  }
}

/** Returns a key that is unique among the objects of a kind. */
export function keyOf({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `${namespace}/${name}`;
}
