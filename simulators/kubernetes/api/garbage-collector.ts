import { FOREGROUND, ORPHAN } from "./deletion.ts";
import type { KubeObject } from "./object.ts";
import type { ObjectApi, Target } from "./objects.ts";
import { MERGE_PATCH } from "./patch.ts";
import type { ResourceType } from "./resource-types.ts";
import type { ObjectStore } from "./store.ts";

/**
 * Deletes objects whose owners are gone, and orphans or deletes dependants before their owner is removed. Like the real
 * controller, it works after the write that caused this, not during it.
 */
export class GarbageCollector {
  readonly #store: ObjectStore;
  readonly #api: ObjectApi;
  #scheduled: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(store: ObjectStore, api: ObjectApi) {
    this.#store = store;
    this.#api = api;
    store.observe(({ type, object: { metadata } }) => {
      const isOwned = type === "ADDED" && metadata.ownerReferences !== undefined;
      if (type === "DELETED" || metadata.deletionTimestamp || isOwned) this.#schedule();
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

  /** Collects garbage. Changes that occur in the meantime are handled by the next run, which they schedule. */
  #collect(): void {
    const all = [...this.#store.everything()];
    const uids = new Set(all.map(([, { metadata }]) => metadata.uid));
    for (const [type, object] of all) {
      const target = targetOf(type, object);
      const { uid = "", deletionTimestamp, finalizers = [], ownerReferences = [] } = object.metadata;
      if (!this.#isCurrent(type, object)) continue;
      const without = (finalizer: string) =>
        this.#patch(target, { finalizers: finalizers.filter((one) => one !== finalizer) });
      const dependants = all.filter(
        ([dependantType, dependant]) =>
          dependant.metadata.ownerReferences?.some((owner) => owner.uid === uid) &&
          this.#isCurrent(dependantType, dependant),
      );
      if (!deletionTimestamp) {
        if (ownerReferences.length > 0 && ownerReferences.every((owner) => !uids.has(owner.uid)))
          this.#api.delete(target, { propagationPolicy: "Background" });
      } else if (finalizers.includes(ORPHAN)) {
        for (const [dependantType, { metadata }] of dependants) {
          const owners = metadata.ownerReferences?.filter((owner) => owner.uid !== uid) ?? [];
          this.#patch(targetOf(dependantType, { metadata }), { ownerReferences: owners });
        }
        without(ORPHAN);
      } else if (finalizers.includes(FOREGROUND)) {
        for (const [dependantType, dependant] of dependants)
          if (!dependant.metadata.deletionTimestamp)
            this.#api.delete(targetOf(dependantType, dependant), { propagationPolicy: "Foreground" });
        const blocks = ([, { metadata }]: (typeof all)[number]) =>
          metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion);
        if (!dependants.some(blocks)) without(FOREGROUND);
      }
    }
  }

  /** Whether the object has not changed since the run began. */
  #isCurrent(type: ResourceType, object: KubeObject): boolean {
    const { namespace, name } = targetOf(type, object);
    return this.#store.find(type, namespace, name) === object;
  }

  #patch(target: Target, metadata: Partial<KubeObject["metadata"]>): void {
    this.#api.patch(target, MERGE_PATCH, { metadata });
  }
}

function targetOf(type: ResourceType, { metadata }: Pick<KubeObject, "metadata">): Target {
  return { type, namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
}
