import { ApiFailure } from "./failure.ts";
import type { KubeObject } from "./object.ts";
import type { ObjectApi } from "./object-api.ts";
import type { ResourceType } from "./resource-type.ts";
import type { Change, ObjectStore } from "./store.ts";

interface Item {
  readonly type: ResourceType;
  readonly object: KubeObject;
}

/**
 * Ends what has lost its owners, orphans or ends dependants before their owner goes, and empties namespaces that go. It
 * works in a later turn than the change that woke it, as the real controllers do.
 */
export class GarbageCollector {
  readonly #store: ObjectStore;
  readonly #api: ObjectApi;
  #scheduled: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(store: ObjectStore, api: ObjectApi) {
    this.#store = store;
    this.#api = api;
    store.observe((_, change) => {
      if (concerns(change)) this.#schedule();
    });
  }

  close(): void {
    this.#closed = true;
    clearImmediate(this.#scheduled);
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = undefined;
      this.#collect();
    });
  }

  #collect(): void {
    const items = [...this.#store.everything()].map(([type, object]) => ({ type, object }));
    const byUid = new Map(items.map((item) => [item.object.metadata.uid, item]));
    for (const item of items) {
      if (this.#closed) return;
      const { type, object } = item;
      if (this.#store.find(type, object.metadata.namespace ?? "", object.metadata.name ?? "") !== object)
        continue;
      if (object.metadata.finalizers?.includes("orphan")) this.#orphan(item, items);
      else if (object.metadata.finalizers?.includes("foregroundDeletion")) this.#foreground(item, items);
      else if (type.kind === "Namespace" && object.metadata.deletionTimestamp)
        this.#emptyNamespace(item, items);
      else if (hasLostOwners(object, byUid)) this.#delete(item);
    }
  }

  #orphan(owner: Item, items: readonly Item[]): void {
    if (!owner.object.metadata.deletionTimestamp) return;
    const { uid } = owner.object.metadata;
    for (const { type, object } of dependantsOf(owner, items)) {
      const ownerReferences =
        object.metadata.ownerReferences?.filter((reference) => reference.uid !== uid) ?? [];
      this.#change({ type, object }, { ownerReferences });
    }
    this.#change(owner, { finalizers: without(owner.object, "orphan") });
  }

  #foreground(owner: Item, items: readonly Item[]): void {
    if (!owner.object.metadata.deletionTimestamp) return;
    const { uid } = owner.object.metadata;
    const dependants = dependantsOf(owner, items);
    const blocking = dependants.filter(({ object }) =>
      object.metadata.ownerReferences?.some(
        (reference) => reference.uid === uid && reference.blockOwnerDeletion,
      ),
    );
    for (const dependant of dependants)
      if (!dependant.object.metadata.deletionTimestamp) this.#delete(dependant, "Foreground");
    if (blocking.every(({ type, object }) => !this.#isThere(type, object)))
      this.#change(owner, { finalizers: without(owner.object, "foregroundDeletion") });
    else if (blocking.some(({ type, object }) => !this.#isThere(type, object))) this.#schedule();
  }

  #emptyNamespace(item: Item, items: readonly Item[]): void {
    const name = item.object.metadata.name ?? "";
    const inside = items.filter(({ object }) => object.metadata.namespace === name);
    for (const one of inside) if (!one.object.metadata.deletionTimestamp) this.#delete(one);
    if (inside.some(({ type, object }) => this.#isThere(type, object))) return;
    const emptied = structuredClone(item.object);
    emptied.spec = { ...emptied.spec, finalizers: [] };
    this.#store.delete(item.type, emptied);
  }

  #isThere(type: ResourceType, { metadata }: KubeObject): boolean {
    return (
      this.#store.find(type, metadata.namespace ?? "", metadata.name ?? "")?.metadata.uid === metadata.uid
    );
  }

  #delete({ type, object }: Item, propagationPolicy = "Background"): void {
    const { namespace = "", name = "", uid = "" } = object.metadata;
    if (object.metadata.deletionTimestamp) return;
    try {
      this.#api.delete({ type, namespace, name }, { propagationPolicy, preconditions: { uid } });
    } catch (thrown) {
      // Someone was faster.
      if (!(thrown instanceof ApiFailure)) throw thrown;
    }
  }

  #change({ type, object }: Item, metadata: Partial<KubeObject["metadata"]>): void {
    const { namespace = "", name = "" } = object.metadata;
    const patch = JSON.stringify({ metadata });
    const options = { fieldValidation: "Ignore", warnings: [], dryRun: false } as const;
    try {
      this.#api.patch({ type, namespace, name }, "application/merge-patch+json", patch, "", {
        ...options,
        warnings: [],
      });
    } catch (thrown) {
      if (!(thrown instanceof ApiFailure)) throw thrown;
    }
  }
}

/** Only an end, a mark or an owner can give the collector work. */
function concerns({ type, object }: Change): boolean {
  const { deletionTimestamp, ownerReferences = [] } = object.metadata;
  return type === "DELETED" || Boolean(deletionTimestamp) || (type === "ADDED" && ownerReferences.length > 0);
}

function hasLostOwners({ metadata }: KubeObject, byUid: ReadonlyMap<string | undefined, Item>): boolean {
  const { ownerReferences = [], namespace = "" } = metadata;
  return (
    ownerReferences.length > 0 &&
    ownerReferences.every(({ uid, kind }) => {
      const owner = byUid.get(uid);
      // An owner in another namespace is no owner.
      return (
        !owner || owner.type.kind !== kind || ![namespace, ""].includes(owner.object.metadata.namespace ?? "")
      );
    })
  );
}

function dependantsOf({ object }: Item, items: readonly Item[]): Item[] {
  const { uid } = object.metadata;
  return items.filter(({ object: one }) =>
    one.metadata.ownerReferences?.some((reference) => reference.uid === uid),
  );
}

function without({ metadata }: KubeObject, finalizer: string): string[] {
  return (metadata.finalizers ?? []).filter((one) => one !== finalizer);
}
