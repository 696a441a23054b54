import { randomUUID } from "node:crypto";
import { fieldProblems } from "../fields.ts";
import { type DeleteOptions, isGone, markDeleted } from "./deletion.ts";
import { alreadyExists, badRequest, conflict, forbidden, invalid, notFound } from "./failure.ts";
import { isObject, isSameJson, type KubeObject, type ObjectMeta, randomSuffix, timestamp } from "./object.ts";
import { APPLY_PATCH, applyObject, applyPatch } from "./patch.ts";
import { apiVersionOf, BUILT_IN_TYPES, type ResourceType } from "./resource-types.ts";
import type { ObjectStore } from "./store.ts";

/** The address of an object. `namespace` is "" for cluster-scoped kinds. */
export interface Target {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
}

/** The part that a request writes: the object without its status, or only the status. */
export type Subresource = "" | "status";

const DNS_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/**
 * Creates, changes and deletes objects by the rules of the API that clients notice: versions, conflicts, statuses,
 * finalizers. For built-in kinds it checks the names and types of fields; only a real server checks their values.
 */
export class ObjectApi {
  readonly #store: ObjectStore;
  readonly #now: () => number;
  /** The object that each manager applied last, by UID, subresource and name. */
  readonly #applied = new Map<string, unknown>();

  constructor(store: ObjectStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  get({ type, namespace, name }: Target): KubeObject {
    const found = this.#store.find(type, namespace, name);
    if (!found) throw notFound(type, name);
    return found;
  }

  create(type: ResourceType, namespace: string, body: unknown): KubeObject {
    const object = structuredClone(checked(type, body));
    const { metadata } = object;
    if (type.namespaced) metadata.namespace = namespace;
    metadata.name ||= `${metadata.generateName ?? ""}${randomSuffix()}`;
    const { name } = metadata;
    if (type.namespaced && !this.#store.find(builtIn("Namespace"), "", namespace))
      throw notFound(builtIn("Namespace"), namespace);
    metadata.uid = randomUUID();
    metadata.creationTimestamp = timestamp(this.#now());
    if (type.hasStatus) delete object.status;
    if (type.custom) setCrdDefaults(object);
    else this.#complete(type, object);
    if (this.#store.find(type, namespace, name)) throw alreadyExists(type, name);
    return this.#store.put(type, object);
  }

  update(target: Target, body: unknown, subresource: Subresource = ""): KubeObject {
    return this.#replace(target, this.get(target), checked(target.type, body), subresource);
  }

  patch(
    target: Target,
    contentType: string,
    patch: unknown,
    subresource: Subresource = "",
    fieldManager = "",
  ): KubeObject {
    const existing = this.get(target);
    const isApplied = contentType === APPLY_PATCH;
    // Kubernetes requires a manager's name, and JSON is YAML.
    if (isApplied && fieldManager === "")
      throw invalid(target.type, target.name, "fieldManager: Required value");
    const key = `${existing.metadata.uid} ${subresource} ${fieldManager}`;
    const patched = isApplied
      ? this.#applyAs(key, existing, patch)
      : applyPatch(contentType, existing, patch);
    const sent = checked(target.type, patched);
    // For a status all metadata except the version is ignored.
    if (target.type.custom && subresource === "status") sent.metadata.uid = existing.metadata.uid ?? "";
    // A PUT with another UID answers 409, but a PATCH 422, because it would change an immutable field.
    const { uid = existing.metadata.uid } = sent.metadata;
    if (uid !== existing.metadata.uid) {
      const why = `metadata.uid: Invalid value: ${JSON.stringify(uid)}: field is immutable`;
      throw invalid(target.type, target.name, why);
    }
    const replaced = this.#replace(target, existing, sent, subresource);
    if (isApplied) this.#applied.set(key, patch);
    return replaced;
  }

  #applyAs(key: string, existing: KubeObject, patch: unknown): unknown {
    const applied = this.#applied.get(key);
    return applyObject(existing, patch, isObject(applied) ? { status: applied["status"] } : undefined);
  }

  /** Removes the object, or marks it as deleted while a finalizer or a grace period holds it. */
  delete(target: Target, options: DeleteOptions): KubeObject {
    const { type, name } = target;
    const existing = this.get(target);
    const { preconditions = {} } = options;
    for (const field of ["uid", "resourceVersion"] as const)
      if (![undefined, existing.metadata[field]].includes(preconditions[field]))
        throw conflict(type, name, `the ${field} in the precondition is not that of the object`);
    const marked = markDeleted(type, existing, options, this.#now());
    if (isGone(marked)) return this.#store.delete(type, marked);
    return isSameJson(marked, existing) ? existing : this.#store.put(type, marked);
  }

  /** Binds a pod to a node, as the scheduler does with pods/binding. */
  bind(target: Target, nodeName: string): void {
    const pod = structuredClone(this.get(target));
    pod.spec = { ...pod.spec, nodeName };
    const condition = { type: "PodScheduled", status: "True", lastTransitionTime: timestamp(this.#now()) };
    pod.status = { ...pod.status, conditions: [condition] };
    this.#store.put(target.type, pod);
  }

  #replace(
    { type, name }: Target,
    existing: KubeObject,
    sent: KubeObject,
    subresource: Subresource,
  ): KubeObject {
    const { metadata: before } = existing;
    const { uid = before.uid, resourceVersion = before.resourceVersion } = sent.metadata;
    if (uid !== before.uid)
      throw conflict(
        type,
        name,
        `Precondition failed: UID in precondition: ${uid}, in object: ${before.uid}`,
      );
    if (resourceVersion !== before.resourceVersion)
      throw conflict(
        type,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
      );
    const metadata = { ...sent.metadata, ...serverFields(before) };
    const { status } = subresource === "status" ? sent : existing;
    const next = structuredClone(
      subresource === "" ? { ...sent, metadata } : { ...existing, metadata: type.custom ? before : metadata },
    );
    delete next.status;
    if (status !== undefined) next.status = structuredClone(status);
    dropEmpty(next.metadata);
    if (isSameJson(next, existing)) return existing;
    return isGone(next) ? this.#store.delete(type, next) : this.#store.put(type, next);
  }

  /** Completes a new object of a built-in kind with what the server adds, as far as any code here reads it. */
  #complete(type: ResourceType, object: KubeObject): void {
    const { name = "", namespace = "", uid = "" } = object.metadata;
    switch (type.kind) {
      case "Secret": {
        const { stringData = {}, data } = object as { stringData?: Record<string, string>; data?: object };
        const encoded = Object.entries(stringData).map(([key, text]) => [
          key,
          Buffer.from(text).toString("base64"),
        ]);
        delete object["stringData"];
        object["data"] = { ...data, ...Object.fromEntries(encoded) };
        return;
      }
      case "Job": {
        const template = (object.spec?.["template"] ?? {}) as { metadata?: ObjectMeta };
        const labels = { "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name };
        template.metadata = { ...template.metadata, labels: { ...template.metadata?.labels, ...labels } };
        object.metadata.labels ??= { ...template.metadata.labels };
        object.status = {};
        return;
      }
      case "Pod": {
        const account = object.spec?.["serviceAccountName"];
        if (account && !this.#store.find(builtIn("ServiceAccount"), namespace, String(account)))
          throw forbidden(type, name, `error looking up service account ${namespace}/${account}: not found`);
        object.status = { phase: "Pending" };
      }
    }
  }
}

/** Checks and returns the object. Throws the API's refusal of its kind, fields, name or labels. */
function checked(type: ResourceType, body: unknown): KubeObject {
  const apiVersion = apiVersionOf(type);
  if (!isObject(body)) throw badRequest(`the object provided is unrecognized (must be of type ${type.kind})`);
  const { kind = type.kind, apiVersion: sentVersion = apiVersion } = body;
  if (kind !== type.kind || sentVersion !== apiVersion)
    throw badRequest(`${kind} in version "${sentVersion}" cannot be handled as a ${type.kind}`);
  const problems = type.custom ? [] : fieldProblems(type.kind, body);
  if (problems.length > 0)
    throw badRequest(`${kind} in version "${type.version}" cannot be handled: ${problems.join(", ")}`);
  const object = {
    ...body,
    apiVersion,
    kind: type.kind,
    metadata: { ...(body["metadata"] ?? {}) },
  } as KubeObject;
  const { name, generateName, labels = {} } = object.metadata;
  const named = name || generateName;
  if (!named) throw invalid(type, "", "metadata.name: Required value: name or generateName is required");
  if (!DNS_NAME.test(name ?? "a") || (name ?? "").length > 253)
    throw invalid(type, named, `metadata.name: Invalid value: ${JSON.stringify(name)}`);
  for (const value of Object.values(labels))
    if (!LABEL_VALUE.test(value))
      throw invalid(type, named, `metadata.labels: Invalid value: ${JSON.stringify(value)}`);
  return object;
}

/** Sets those defaults of the Machine and Task definitions that the tests need. */
function setCrdDefaults({ kind, spec }: KubeObject): void {
  const connection = spec?.["connection"];
  if (["Machine", "Task"].includes(kind) && isObject(connection)) connection["port"] ??= 623;
}

/** Returns the metadata that clients cannot change. */
function serverFields(metadata: ObjectMeta): Partial<ObjectMeta> {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const fields = { name, namespace, uid, resourceVersion, creationTimestamp };
  return JSON.parse(JSON.stringify({ ...fields, deletionTimestamp, deletionGracePeriodSeconds }));
}

/** Removes empty lists and maps, as Go does. */
function dropEmpty(metadata: ObjectMeta): void {
  for (const field of ["labels", "annotations", "finalizers", "ownerReferences"] as const)
    if (Object.keys(metadata[field] ?? {}).length === 0) delete metadata[field];
}

function builtIn(kind: string): ResourceType {
  const type = BUILT_IN_TYPES.find((one) => one.kind === kind);
  if (!type) throw new Error(`no built-in kind is called ${kind}`);
  return type;
}
