import { ApiFailure, badRequest } from "./failure.ts";
import { isObject, type JsonObject, same } from "./object.ts";

/** RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = isObject(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field];
    else merged[field] = mergePatch(merged[field], value);
  }
  return merged;
}

/** RFC 6902. */
export function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations))
    throw badRequest(
      "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
    );
  let document: unknown = structuredClone(target);
  for (const operation of operations) document = applied(document, operation);
  return document;
}

interface Operation {
  readonly op?: string;
  readonly path?: string;
  readonly from?: string;
  readonly value?: unknown;
}

function applied(document: unknown, operation: Operation): unknown {
  const path = pointer(operation.path);
  switch (operation.op) {
    case "add":
      return withValue(document, path, structuredClone(operation.value), true);
    case "replace":
      at(document, path);
      return withValue(document, path, structuredClone(operation.value), false);
    case "remove":
      at(document, path);
      return without(document, path);
    case "move": {
      const from = pointer(operation.from);
      const moved = at(document, from);
      return withValue(without(document, from), path, moved, true);
    }
    case "copy":
      return withValue(document, path, structuredClone(at(document, pointer(operation.from))), true);
    case "test":
      if (!same(at(document, path), operation.value)) throw unprocessable();
      return document;
    default:
      throw unprocessable();
  }
}

function pointer(text: string | undefined): string[] {
  if (text === undefined || (text !== "" && !text.startsWith("/"))) throw unprocessable();
  return text
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function at(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const part of path) {
    if (Array.isArray(value) && /^\d+$/.test(part) && Number(part) < value.length)
      value = value[Number(part)];
    else if (isObject(value) && part in value) value = value[part];
    else throw unprocessable();
  }
  return value;
}

function withValue(document: unknown, path: readonly string[], value: unknown, insert: boolean): unknown {
  const [last] = path.slice(-1);
  if (last === undefined) return value;
  const parent = at(document, path.slice(0, -1));
  if (Array.isArray(parent)) {
    const index = last === "-" ? parent.length : Number(last);
    if (!Number.isInteger(index) || index < 0 || index > parent.length) throw unprocessable();
    parent.splice(index, insert ? 0 : 1, value);
  } else if (isObject(parent)) parent[last] = value;
  else throw unprocessable();
  return document;
}

function without(document: unknown, path: readonly string[]): unknown {
  const [last = ""] = path.slice(-1);
  const parent = at(document, path.slice(0, -1));
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (isObject(parent)) delete parent[last];
  return document;
}

/** What the real server says of a JSON patch that does not apply: no word about which operation. */
function unprocessable(): ApiFailure {
  return new ApiFailure(422, "Invalid", "the server rejected our request due to an error in our request", {});
}
