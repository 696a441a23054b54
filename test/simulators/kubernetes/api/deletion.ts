import { FieldErrors } from "../validation/field-errors.ts";
import { type ApiFailure, conflict, invalid } from "./failure.ts";
import { isObject, type KubeObject, timestamp } from "./object.ts";
import type { ResourceType } from "./resource-type.ts";

const POLICIES = ["Foreground", "Background", "Orphan"];
const META = { kind: "DeleteOptions", group: "meta.k8s.io" };

/** metav1.DeleteOptions, from the body or from the query. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: readonly string[];
}

export function parseDeleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const fromBody = isObject(body) ? (body as DeleteOptions) : {};
  const grace = query.get("gracePeriodSeconds");
  const policy = query.get("propagationPolicy");
  const orphan = query.get("orphanDependents");
  const options = {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: orphan === "true" }),
    ...(query.has("dryRun") ? { dryRun: query.getAll("dryRun") } : {}),
    ...fromBody,
  };
  const errors = new FieldErrors();
  const { propagationPolicy, orphanDependents } = options;
  if (propagationPolicy !== undefined && orphanDependents !== undefined)
    errors.invalid(
      "propagationPolicy",
      propagationPolicy,
      "orphanDependents and deletionPropagation cannot be both set",
    );
  else if (propagationPolicy !== undefined && !POLICIES.includes(propagationPolicy))
    errors.unsupported("propagationPolicy", propagationPolicy, [...POLICIES, "nil"]);
  if (errors.causes.length > 0) throw invalid(META, "", errors.causes);
  return options;
}

/** Throws 409 when the object is not the one that was meant. */
export function checkPreconditions(
  type: ResourceType,
  { metadata }: KubeObject,
  { preconditions = {} }: DeleteOptions,
): void {
  const { uid, resourceVersion } = preconditions;
  const name = metadata.name ?? "";
  if (uid !== undefined && uid !== metadata.uid)
    throw preconditionFailed(
      type,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw preconditionFailed(
      type,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
}

/**
 * The object as a deletion leaves it: marked, with the finalizers that its propagation asks for. Whoever has no
 * finalizer and no grace left is gone.
 */
export function markDeleted(
  type: ResourceType,
  object: KubeObject,
  options: DeleteOptions,
  now: number,
): KubeObject {
  const marked = structuredClone(object);
  const { metadata } = marked;
  const finalizers = finalizersAfter(type, metadata.finalizers ?? [], options);
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  const grace = graceOf(type, object, options);
  const first = !metadata.deletionTimestamp;
  const shorter = grace < (metadata.deletionGracePeriodSeconds ?? 0);
  if (first || shorter) {
    metadata.deletionTimestamp = timestamp(now + grace * 1_000);
    metadata.deletionGracePeriodSeconds = grace;
  }
  if (first && metadata.generation !== undefined) metadata.generation++;
  if (type.kind === "Namespace") marked.status = { ...marked.status, phase: "Terminating" };
  return marked;
}

/** Nothing holds it any more. */
export function isGone(type: ResourceType, { metadata, spec }: KubeObject): boolean {
  const held =
    type.kind === "Namespace" && Array.isArray(spec?.["finalizers"]) && spec["finalizers"].length > 0;
  return (
    Boolean(metadata.deletionTimestamp) &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
    (metadata.finalizers ?? []).length === 0 &&
    !held
  );
}

/** Jobs orphan their Pods unless told otherwise; batch/v1 kept the default of its first versions. */
export function orphansByDefault({ group, kind }: ResourceType): boolean {
  return group === "batch" && kind === "Job";
}

function finalizersAfter(type: ResourceType, existing: readonly string[], options: DeleteOptions): string[] {
  const policy = policyOf(type, existing, options);
  const kept = existing.filter((finalizer) => finalizer !== "orphan" && finalizer !== "foregroundDeletion");
  if (policy === "Orphan") return [...kept, "orphan"];
  if (policy === "Foreground") return [...kept, "foregroundDeletion"];
  return kept;
}

function policyOf(type: ResourceType, existing: readonly string[], options: DeleteOptions): string {
  if (options.propagationPolicy !== undefined) return options.propagationPolicy;
  if (options.orphanDependents !== undefined) return options.orphanDependents ? "Orphan" : "Background";
  if (existing.includes("orphan")) return "Orphan";
  if (existing.includes("foregroundDeletion")) return "Foreground";
  return orphansByDefault(type) ? "Orphan" : "Background";
}

/** Only Pods have one, and only while a kubelet has something to end. */
function graceOf(type: ResourceType, { spec = {}, status = {} }: KubeObject, options: DeleteOptions): number {
  if (type.group !== "" || type.kind !== "Pod") return 0;
  const ended = status["phase"] === "Succeeded" || status["phase"] === "Failed";
  if (ended || !spec["nodeName"]) return 0;
  return Math.max(0, options.gracePeriodSeconds ?? Number(spec["terminationGracePeriodSeconds"] ?? 30));
}

function preconditionFailed(type: ResourceType, name: string, why: string): ApiFailure {
  // Said of the kind, where every other conflict is said of the resource.
  return conflict({ ...type, plural: type.kind }, name, why);
}
