import { type KubeObject, timestamp } from "./object.ts";
import type { ResourceType } from "./resource-types.ts";

/** metav1.DeleteOptions. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export const ORPHAN = "orphan";
export const FOREGROUND = "foregroundDeletion";

/** Returns the object with the time of its deletion and the finalizer that its propagation policy adds. */
export function markDeleted(
  type: ResourceType,
  object: KubeObject,
  options: DeleteOptions,
  now: number,
): KubeObject {
  const marked = structuredClone(object);
  const { metadata } = marked;
  const finalizers = new Set(metadata.finalizers ?? []);
  const policy = options.propagationPolicy ?? defaultPolicy(type);
  if (policy === "Orphan") finalizers.add(ORPHAN);
  if (policy === "Foreground") finalizers.add(FOREGROUND);
  if (finalizers.size > 0) metadata.finalizers = [...finalizers];
  const grace = graceOf(type, object, options);
  if (!metadata.deletionTimestamp || grace < (metadata.deletionGracePeriodSeconds ?? 0)) {
    metadata.deletionTimestamp = timestamp(now + grace * 1_000);
    metadata.deletionGracePeriodSeconds = grace;
  }
  return marked;
}

export function isGone({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0;
}

/** batch/v1 kept the default of its first versions. */
function defaultPolicy({ group, kind }: ResourceType): DeleteOptions["propagationPolicy"] {
  return group === "batch" && kind === "Job" ? "Orphan" : "Background";
}

/** Returns the grace period. Only a pod on a node has one, until it has ended. */
function graceOf(type: ResourceType, { spec = {}, status = {} }: KubeObject, options: DeleteOptions): number {
  const isRunning =
    type.kind === "Pod" && spec["nodeName"] && !/Succeeded|Failed/.test(String(status["phase"]));
  return isRunning ? (options.gracePeriodSeconds ?? Number(spec["terminationGracePeriodSeconds"] ?? 30)) : 0;
}
