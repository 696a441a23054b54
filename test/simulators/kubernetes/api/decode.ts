import { pruned, violations } from "../custom/check-custom.ts";
import { decodeBuiltIn } from "../validation/decode-built-in.ts";
import { ApiFailure, badRequest, type Cause } from "./failure.ts";
import { isObject, type JsonObject, type KubeObject } from "./object.ts";
import { apiVersionOf, type ResourceType } from "./resource-type.ts";

/** What to do with fields that the kind does not have; the query's `fieldValidation`. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

export interface Decoding {
  readonly fieldValidation: FieldValidation;
  /** Sent as `Warning` headers. */
  readonly warnings: string[];
}

/** The metadata of custom resources is read as that of any other kind. */
const METADATA_HOLDER: ResourceType = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  singular: "configmap",
  namespaced: true,
  subresources: [],
};

/** Reads a request's body as an object of the kind. Throws 400 for what is none. */
export function decodeObject(type: ResourceType, body: unknown, decoding: Decoding): KubeObject {
  if (!isObject(body)) throw badRequest(`the object provided is unrecognized (must be of type ${type.kind})`);
  checkKind(type, body);
  const unknown: string[] = [];
  const object = type.schema ? decodeCustom(type, body, unknown) : decodeBuiltIn(type, body, unknown);
  if (unknown.length > 0 && decoding.fieldValidation === "Strict") throw strictFailure(type, unknown);
  if (decoding.fieldValidation === "Warn")
    decoding.warnings.push(...unknown.map((field) => `unknown field "${field}"`));
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind, metadata: metadataOf(object) };
}

/** The schema's word on a custom resource; nothing on the others. */
export function schemaCauses(type: ResourceType, { spec, status }: KubeObject): Cause[] {
  if (!type.schema) return [];
  const fields = { ...(spec === undefined ? {} : { spec }), ...(status === undefined ? {} : { status }) };
  return violations(type.schema, fields, "");
}

/** The same complaint about a patch travels as 422. */
export function strictPatchFailure(failure: unknown, patch: string): unknown {
  if (!(failure instanceof ApiFailure)) return failure;
  const strict = /strict decoding error: .*/.exec(failure.message)?.[0];
  if (strict === undefined) return failure;
  const message = `Invalid value: ${JSON.stringify(patch)}: ${strict}`;
  return new ApiFailure(422, "Invalid", ` "" is invalid: patch: ${message}`, {
    causes: [{ reason: "FieldValueInvalid", message, field: "patch" }],
  });
}

function decodeCustom(type: ResourceType, body: JsonObject, unknown: string[]): KubeObject {
  const { apiVersion, kind, metadata, ...fields } = body;
  const holder = isObject(metadata) ? metadata : {};
  const decoded = decodeBuiltIn({ ...METADATA_HOLDER, kind: "ConfigMap" }, { metadata: holder }, unknown);
  const content = type.schema ? pruned(type.schema, fields, "", unknown) : fields;
  return {
    ...(content as JsonObject),
    apiVersion: String(apiVersion),
    kind: String(kind),
    metadata: decoded.metadata,
  };
}

function checkKind(type: ResourceType, body: JsonObject): void {
  const { kind, version } = type;
  const { kind: givenKind, apiVersion: givenVersion } = body;
  if (type.schema && (givenKind === undefined || givenKind === ""))
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): Object 'Kind' is missing in '${JSON.stringify(body)}'`,
    );
  if (givenKind !== undefined && givenKind !== kind)
    throw badRequest(
      `${givenKind} in version "${version}" cannot be handled as a ${kind}: converting (${version}.${givenKind}) to (${kind}): unknown conversion`,
    );
  if ((givenVersion !== undefined || type.schema) && givenVersion !== apiVersionOf(type))
    throw badRequest(
      `${kind} in version ${JSON.stringify(givenVersion ?? "")} cannot be handled as a ${kind}: no kind "${kind}" is registered for version ${JSON.stringify(givenVersion ?? "")}`,
    );
}

function metadataOf(object: KubeObject): KubeObject["metadata"] {
  const metadata: JsonObject = { ...object.metadata };
  // Nothing here tracks who owns which field.
  delete metadata["managedFields"];
  delete metadata["selfLink"];
  // Go leaves out what is empty.
  for (const [field, value] of Object.entries(metadata))
    if (typeof value === "object" && value !== null && Object.keys(value).length === 0)
      delete metadata[field];
  return metadata;
}

function strictFailure({ kind, version }: ResourceType, unknown: readonly string[]): ApiFailure {
  const list = unknown.map((field) => `unknown field "${field}"`).join(", ");
  return badRequest(
    `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${list}`,
  );
}
