import { randomUUID } from "node:crypto";
import { rulesOf } from "../kinds/rules.ts";
import { FieldErrors } from "../validation/field-errors.ts";
import { checkMetadata, checkMetadataUpdate } from "../validation/metadata.ts";
import { admitNamespace, admitPodSecurity, admitServiceAccount, type Cluster } from "./admission.ts";
import { type Decoding, decodeObject, schemaCauses, strictPatchFailure } from "./decode.ts";
import { checkPreconditions, type DeleteOptions, isGone, markDeleted, orphansByDefault } from "./deletion.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  invalid,
  modified,
  notFound,
  qualifiedResource,
  unsupportedMediaType,
} from "./failure.ts";
import { isObject, type JsonObject, type KubeObject, same, timestamp } from "./object.ts";
import { jsonPatch, mergePatch } from "./patch.ts";
import { randomSuffix } from "./random-suffix.ts";
import type { ResourceType } from "./resource-type.ts";
import type { ObjectStore } from "./store.ts";
import { strategicMerge } from "./strategic-merge.ts";

export type Subresource = "" | "status";

/** How a write is to be taken. */
export interface WriteOptions extends Decoding {
  readonly dryRun: boolean;
}

/** Where an object is: `namespace` is "" for cluster-scoped kinds. */
export interface Target {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
}

const PATCH_TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

/** Kinds without metadata.generation. */
const NO_GENERATION = ["Secret", "ConfigMap", "Event", "Lease", "Namespace", "ServiceAccount", "Node"];

/** Creates, changes and deletes objects by the rules of the API, without HTTP. Refusals are `ApiFailure`s. */
export class ObjectApi {
  readonly #store: ObjectStore;
  readonly #cluster: Cluster;
  readonly #now: () => number;

  constructor(store: ObjectStore, cluster: Cluster, now: () => number) {
    this.#store = store;
    this.#cluster = cluster;
    this.#now = now;
  }

  get({ type, namespace, name }: Target): KubeObject {
    const found = this.#store.find(type, namespace, name);
    if (!found) throw notFound(type, name);
    return found;
  }

  create(type: ResourceType, namespace: string, body: unknown, options: WriteOptions): KubeObject {
    const object = decodeObject(type, body, options);
    const { metadata } = object;
    checkNamespace(type, namespace, object);
    if (type.namespaced) metadata.namespace = namespace;
    if (!metadata.name && metadata.generateName)
      metadata.name = `${metadata.generateName.slice(0, 58)}${randomSuffix()}`;
    if (type.namespaced) admitNamespace(this.#cluster, type, object);
    if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== "")
      throw badRequest("resourceVersion should not be set on objects to be created");
    metadata.uid = randomUUID();
    metadata.creationTimestamp = timestamp(this.#now());
    delete metadata.deletionTimestamp;
    delete metadata.deletionGracePeriodSeconds;
    delete metadata.generation;
    if (hasGeneration(type)) metadata.generation = 1;
    if (type.subresources.includes("status")) delete object.status;
    const rules = rulesOf(type);
    if (type.kind === "Pod") admitServiceAccount(this.#cluster, type, object);
    rules.prepare?.(object);
    rules.complete?.(object);
    if (type.group === "" && type.kind === "Pod")
      admitPodSecurity(this.#cluster, type, object, options.warnings);
    if (type.group === "batch" && type.kind === "Job")
      admitPodSecurity(this.#cluster, type, object, options.warnings);
    this.#check(type, object);
    if (this.#store.find(type, metadata.namespace ?? "", metadata.name ?? ""))
      throw alreadyExists(type, metadata.name ?? "");
    return options.dryRun ? object : this.#store.put(type, object);
  }

  /** Whether the object was made is in `created`: a few kinds allow it. */
  update(
    target: Target,
    body: unknown,
    subresource: Subresource,
    options: WriteOptions,
  ): { readonly object: KubeObject; readonly created: boolean } {
    const { type, namespace, name } = target;
    const sent = decodeObject(type, body, options);
    checkNamespace(type, namespace, sent);
    if (sent.metadata.name !== name)
      throw badRequest(
        sent.metadata.name
          ? `the name of the object (${sent.metadata.name}) does not match the name on the URL (${name})`
          : "name must be provided",
      );
    const existing = this.#store.find(type, namespace, name);
    if (!existing && type.createsOnUpdate && subresource === "") {
      const { resourceVersion: _, ...metadata } = sent.metadata;
      return { object: this.create(type, namespace, { ...sent, metadata }, options), created: true };
    }
    if (!existing) throw notFound(type, name);
    return { object: this.#replace(target, existing, sent, subresource, options, true), created: false };
  }

  patch(
    target: Target,
    contentType: string,
    text: string,
    subresource: Subresource,
    options: WriteOptions,
  ): KubeObject {
    const { type } = target;
    const accepted = Object.values(PATCH_TYPES).filter(
      (one) => !type.schema || one !== PATCH_TYPES.strategic,
    );
    if (!accepted.includes(contentType))
      throw unsupportedMediaType([...accepted, "application/apply-patch+yaml"]);
    const existing = this.get(target);
    const patch = parsePatch(text);
    const patched = applyPatch(contentType, existing, patch);
    if (!isObject(patched)) throw badRequest("the patch leaves no object behind");
    let sent: KubeObject;
    try {
      sent = decodeObject(type, patched, options);
    } catch (thrown) {
      throw strictPatchFailure(thrown, text);
    }
    if (
      sent.metadata.name !== existing.metadata.name ||
      sent.metadata.namespace !== existing.metadata.namespace
    )
      throw badRequest("the name and the namespace of the object cannot be patched");
    return this.#replace(target, existing, sent, subresource, options, false);
  }

  /** The object as it goes or is marked, and whether it is gone. */
  delete(
    target: Target,
    options: DeleteOptions,
    warnings: string[] = [],
  ): { object: KubeObject; gone: boolean } {
    const { type } = target;
    const existing = this.get(target);
    checkPreconditions(type, existing, options);
    const silent = options.propagationPolicy === undefined && options.orphanDependents === undefined;
    if (orphansByDefault(type) && silent)
      warnings.push(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
      );
    const marked = markDeleted(type, existing, options, this.#now());
    const gone = isGone(type, marked);
    if (options.dryRun?.includes("All")) return { object: marked, gone };
    if (gone) return { object: this.#store.delete(type, marked), gone };
    return { object: same(marked, existing) ? existing : this.#store.put(type, marked), gone };
  }

  /** pods/binding: the scheduler's word. */
  bind(target: Target, body: unknown): void {
    const existing = this.get(target);
    const node = isObject(body) && isObject(body["target"]) ? body["target"]["name"] : undefined;
    if (typeof node !== "string" || node === "") {
      const errors = new FieldErrors();
      errors.required("target.name");
      throw invalid({ kind: "Binding", group: "" }, target.name, errors.causes);
    }
    if (existing.spec?.["nodeName"])
      throw conflict(
        { ...target.type, plural: "pods/binding" },
        target.name,
        `pod ${target.name} is already assigned to node ${JSON.stringify(existing.spec["nodeName"])}`,
      );
    const bound = structuredClone(existing);
    bound.spec = { ...bound.spec, nodeName: node };
    const condition = {
      type: "PodScheduled",
      status: "True",
      lastProbeTime: null,
      lastTransitionTime: timestamp(this.#now()),
    };
    bound.status = strategicMerge(bound.status, { conditions: [condition] }) as JsonObject;
    this.#store.put(target.type, bound);
  }

  #replace(
    { type, name }: Target,
    existing: KubeObject,
    sent: KubeObject,
    subresource: Subresource,
    options: WriteOptions,
    isPut: boolean,
  ): KubeObject {
    const version = sent.metadata.resourceVersion ?? "";
    if (isPut && version === "" && type.updateNeedsVersion) {
      const errors = new FieldErrors();
      errors.invalid("metadata.resourceVersion", 0, "must be specified for an update");
      throw invalid({ kind: type.plural, group: type.group }, name, errors.causes);
    }
    if (
      sent.metadata.uid !== undefined &&
      sent.metadata.uid !== "" &&
      sent.metadata.uid !== existing.metadata.uid
    )
      throw conflict(
        type,
        name,
        `Precondition failed: UID in precondition: ${sent.metadata.uid}, UID in object meta: ${existing.metadata.uid}`,
      );
    if (version !== "" && version !== existing.metadata.resourceVersion) throw modified(type, name);
    const next = merged(type, existing, sent, subresource);
    const rules = rulesOf(type);
    if (subresource === "") rules.complete?.(next);
    rules.completeStatus?.(next);
    this.#check(type, next, { existing, subresource });
    if (hasGeneration(type) && !same(contentOf(next), contentOf(existing)))
      next.metadata.generation = (existing.metadata.generation ?? 0) + 1;
    if (same(next, existing)) return existing;
    if (subresource === "" && type.group === "batch" && type.kind === "Job")
      admitPodSecurity(this.#cluster, type, next, options.warnings);
    if (options.dryRun) return next;
    return isGone(type, next) ? this.#store.delete(type, next) : this.#store.put(type, next);
  }

  #check(
    type: ResourceType,
    object: KubeObject,
    update?: { readonly existing: KubeObject; readonly subresource: Subresource },
  ): void {
    const errors = new FieldErrors();
    const rules = rulesOf(type);
    checkMetadata(errors, type, object.metadata);
    if (update) checkMetadataUpdate(errors, object.metadata, update.existing.metadata);
    if (update?.subresource === "status") rules.checkStatus?.(errors, object, update.existing);
    else {
      rules.check(errors, object);
      if (update) rules.checkUpdate?.(errors, object, update.existing);
    }
    const causes = [...errors.causes, ...schemaCauses(type, object)];
    if (causes.length > 0) throw invalid(type, object.metadata.name ?? "", causes);
  }
}

/** What an update makes of the existing object: server-set fields stay, and each side keeps to its own half. */
function merged(
  type: ResourceType,
  existing: KubeObject,
  sent: KubeObject,
  subresource: Subresource,
): KubeObject {
  const fixed = existing.metadata;
  const metadata = { ...sent.metadata };
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.generation;
  const kept = {
    uid: fixed.uid,
    creationTimestamp: fixed.creationTimestamp,
    resourceVersion: fixed.resourceVersion,
    generation: fixed.generation,
    deletionTimestamp: fixed.deletionTimestamp,
    deletionGracePeriodSeconds: fixed.deletionGracePeriodSeconds,
    generateName: fixed.generateName,
  };
  for (const [field, value] of Object.entries(kept))
    if (value !== undefined) Object.assign(metadata, { [field]: value });
  if (type.namespaced) metadata.namespace ??= fixed.namespace ?? "";
  if (subresource === "status") {
    const { status: _, ...rest } = structuredClone(existing);
    const withStatus = sent.status === undefined ? rest : { ...rest, status: sent.status };
    // Custom resources take nothing but the status here; built-in kinds take metadata too.
    return type.schema ? withStatus : { ...withStatus, metadata };
  }
  const next: KubeObject = { ...sent, metadata };
  if (type.subresources.includes("status")) {
    delete next.status;
    if (existing.status !== undefined) next.status = structuredClone(existing.status);
  }
  if (type.kind === "Namespace" && existing.spec) next.spec = structuredClone(existing.spec);
  return next;
}

/** What raises the generation: all but metadata and status. */
function contentOf({ metadata: _, status: __, ...content }: KubeObject): JsonObject {
  return content;
}

function hasGeneration({ kind, schema }: ResourceType): boolean {
  return schema !== undefined || !NO_GENERATION.includes(kind);
}

function checkNamespace(type: ResourceType, namespace: string, { metadata }: KubeObject): void {
  if (type.namespaced && metadata.namespace && metadata.namespace !== namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  if (!type.namespaced && metadata.namespace)
    throw badRequest(`namespace may not be set on ${qualifiedResource(type)}`);
}

function parsePatch(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest("error decoding patch: it is not JSON");
  }
}

function applyPatch(contentType: string, existing: KubeObject, patch: unknown): unknown {
  switch (contentType) {
    case PATCH_TYPES.json:
      return jsonPatch(existing, patch);
    case PATCH_TYPES.merge:
      if (!isObject(patch)) throw badRequest("error decoding patch: a merge patch is an object");
      return mergePatch(existing, patch);
    default:
      if (!isObject(patch)) throw badRequest("error decoding patch: a strategic merge patch is an object");
      return strategicMerge(existing, patch);
  }
}
