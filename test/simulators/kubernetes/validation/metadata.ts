import type { ObjectMeta } from "../api/object.ts";
import { same } from "../api/object.ts";
import type { ResourceType } from "../api/resource-type.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  checkAnnotations,
  checkLabelName,
  checkLabels,
  checkQualifiedName,
  checkSubdomainName,
} from "./names.ts";

/** Finalizers of the API server's own; any other needs a prefix. */
const STANDARD_FINALIZERS = ["orphan", "foregroundDeletion", "kubernetes"];

export function checkMetadata(errors: FieldErrors, type: ResourceType, metadata: ObjectMeta): void {
  const { name, generateName } = metadata;
  if (name === undefined || name === "") {
    if (!generateName) {
      errors.required("metadata.name", "name or generateName is required");
      return;
    }
  } else if (type.group === "" && type.plural === "namespaces") checkLabelName(errors, "metadata.name", name);
  else checkSubdomainName(errors, "metadata.name", name);
  checkLabels(errors, "metadata.labels", metadata.labels);
  checkAnnotations(errors, metadata.annotations);
  for (const finalizer of metadata.finalizers ?? []) {
    if (STANDARD_FINALIZERS.includes(finalizer)) continue;
    checkQualifiedName(errors, "metadata.finalizers", finalizer);
    if (!finalizer.includes("/"))
      errors.invalid(
        "metadata.finalizers",
        finalizer,
        "name is neither a standard finalizer name nor is it fully qualified",
      );
  }
  checkOwners(errors, metadata);
}

export function checkMetadataUpdate(errors: FieldErrors, next: ObjectMeta, previous: ObjectMeta): void {
  const fixed = ["name", "namespace", "uid", "creationTimestamp"] as const;
  for (const field of fixed) {
    if (!same(next[field], previous[field]))
      errors.invalid(`metadata.${field}`, next[field], "field is immutable");
  }
  if (!previous.deletionTimestamp) return;
  const added = (next.finalizers ?? []).filter((one) => !previous.finalizers?.includes(one));
  if (added.length > 0) {
    const list = added.map((one) => JSON.stringify(one)).join(", ");
    errors.forbidden(
      "metadata.finalizers",
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
    );
  }
}

function checkOwners(errors: FieldErrors, { ownerReferences = [] }: ObjectMeta): void {
  const field = "metadata.ownerReferences";
  for (const owner of ownerReferences) {
    if (!owner.apiVersion)
      errors.invalid(`${field}.apiVersion`, owner.apiVersion, "version must not be empty");
    if (!owner.kind) errors.invalid(`${field}.kind`, owner.kind, "must not be empty");
    if (!owner.name) errors.invalid(`${field}.name`, owner.name, "must not be empty");
    if (!owner.uid) errors.invalid(`${field}.uid`, owner.uid, "must not be empty");
  }
  if (ownerReferences.filter((owner) => owner.controller === true).length > 1)
    errors.invalid(field, ownerReferences, "Only one reference can have Controller set to true");
}
