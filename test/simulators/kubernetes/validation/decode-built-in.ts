import * as models from "@kubernetes/client-node";
import { badRequest } from "../api/failure.ts";
import { isObject, type JsonObject, type KubeObject } from "../api/object.ts";
import type { ResourceType } from "../api/resource-type.ts";
import { parseQuantity, QUANTITY_RULE } from "./quantity.ts";

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

/** Kinds whose generated model bears another name. */
const MODEL_NAMES: Readonly<Record<string, string>> = { Event: "CoreV1Event" };
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Reads an object of a built-in kind by its generated model, as Go's decoder does: unknown fields go and are named in
 * `unknown`, nulls count as absent, anything of the wrong type is a 400.
 */
export function decodeBuiltIn(type: ResourceType, value: JsonObject, unknown: string[]): KubeObject {
  try {
    return decodeModel(MODEL_NAMES[type.kind] ?? `V1${type.kind}`, value, "", unknown) as KubeObject;
  } catch (thrown) {
    if (!(thrown instanceof DecodeError)) throw thrown;
    const { kind, version } = type;
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${thrown.message}`);
  }
}

class DecodeError extends Error {}

function decodeModel(model: string, value: JsonObject, path: string, unknown: string[]): JsonObject {
  const attributes = attributesOf(model);
  const decoded: JsonObject = {};
  for (const [name, item] of Object.entries(value)) {
    const attribute = attributes.find(({ baseName }) => baseName === name);
    const at = path === "" ? name : `${path}.${name}`;
    if (attribute === undefined) unknown.push(at);
    else if (item !== null) {
      const value = decode(attribute, item, at, unknown);
      if (!isEmptyCollection(attribute, value)) decoded[name] = value;
    }
  }
  return decoded;
}

function decode(
  { type, format }: Pick<Attribute, "type" | "format">,
  value: unknown,
  path: string,
  unknown: string[],
): unknown {
  const list = /^Array<(.+)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) throw mistyped(value, path, `[]${goType(list)}`);
    return value.map((item, index) => decode({ type: list, format }, item, `${path}[${index}]`, unknown));
  }
  const map = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  if (map !== undefined) {
    if (!isObject(value)) throw mistyped(value, path, `map[string]${goType(map)}`);
    const quantities = /\.(limits|requests|capacity|allocatable)$/.test(path);
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        quantities ? quantity(item) : decode({ type: map, format }, item, `${path}.${key}`, unknown),
      ]),
    );
  }
  switch (type) {
    case "string":
      if (typeof value !== "string") throw mistyped(value, path, "string");
      if (format === "byte" && !BASE64.test(value))
        throw new DecodeError(`illegal base64 data at input byte ${firstBadByte(value)}`);
      return path.endsWith("sizeLimit") ? quantity(value) : value;
    case "number":
      if (typeof value !== "number" || !Number.isInteger(value))
        throw mistyped(value, path, format || "int32");
      return value;
    case "boolean":
      if (typeof value !== "boolean") throw mistyped(value, path, "bool");
      return value;
    case "Date":
      if (typeof value !== "string" || !TIME.test(value))
        throw unparsable(value, "2006-01-02T15:04:05Z07:00");
      return value.replace(/\.\d+/, "");
    case "V1MicroTime":
      if (typeof value !== "string" || !MICRO_TIME.test(value))
        throw unparsable(value, "2006-01-02T15:04:05.000000Z07:00");
      return value;
    case "IntOrString":
      if (typeof value !== "string" && typeof value !== "number") throw mistyped(value, path, "int");
      return value;
    case "any":
      return value;
    default:
      if (!isObject(value)) throw mistyped(value, path, goType(type));
      return decodeModel(type, value, path, unknown);
  }
}

/** Go leaves these out; an empty struct stays. */
function isEmptyCollection({ type }: Attribute, value: unknown): boolean {
  const isCollection = type.startsWith("Array<") || type.startsWith("{");
  return isCollection && typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function quantity(value: unknown): string {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || parseQuantity(text) === undefined) throw new DecodeError(QUANTITY_RULE);
  return text;
}

function attributesOf(model: string): readonly Attribute[] {
  const known: Readonly<Record<string, unknown>> = models;
  const made = known[model];
  if (typeof made !== "function" || !("getAttributeTypeMap" in made))
    throw new Error(`no generated model is called ${model}`);
  return (made.getAttributeTypeMap as () => readonly Attribute[])();
}

function mistyped(value: unknown, path: string, wanted: string): DecodeError {
  const found = Array.isArray(value)
    ? "array"
    : value === null
      ? "null"
      : isObject(value)
        ? "object"
        : typeof value;
  const go = found === "boolean" ? "bool" : found;
  return new DecodeError(`json: cannot unmarshal ${go} into Go struct field ${path} of type ${wanted}`);
}

function unparsable(value: unknown, layout: string): DecodeError {
  return new DecodeError(
    `parsing time ${JSON.stringify(value)} as ${JSON.stringify(layout)}: cannot parse it`,
  );
}

function goType(type: string): string {
  return /^[A-Z]/.test(type) ? type.replace(/^(Core)?V1/, "v1.") : type;
}

function firstBadByte(text: string): number {
  const index = text.search(/[^A-Za-z0-9+/]/);
  return index < 0 ? text.length : index;
}
