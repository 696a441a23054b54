import { ApiFailure, badRequest } from "./failure.ts";
import { isObject, isSameJson, type JsonObject } from "./object.ts";

export const MERGE_PATCH = "application/merge-patch+json";
const JSON_PATCH = "application/json-patch+json";

export function applyPatch(contentType: string, target: unknown, patch: unknown): unknown {
  if (contentType === MERGE_PATCH) return mergePatch(target, patch);
  if (contentType === JSON_PATCH && Array.isArray(patch))
    return patch.reduce(applyOperation, structuredClone(target));
  if (contentType === JSON_PATCH) throw badRequest("error decoding patch: a JSON patch is a list");
  throw new ApiFailure(415, "UnsupportedMediaType", `the fake API server has no patches of ${contentType}`);
}

/** RFC 7386. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = isObject(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field];
    else merged[field] = mergePatch(merged[field], value);
  }
  return merged;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** RFC 6902, of objects: `move`, `copy` and lists are missing. Changes `document`. */
function applyOperation(document: unknown, { op, path, value }: Operation): unknown {
  const parts = path.split("/").slice(1);
  const names = parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = names.pop() ?? "";
  let parent: unknown = document;
  for (const name of names) parent = isObject(parent) ? parent[name] : undefined;
  if (!isObject(parent) || (op !== "add" && !(last in parent))) throw unprocessable();
  if (op === "add" || op === "replace") parent[last] = value;
  else if (op === "remove") delete parent[last];
  else if (op !== "test" || !isSameJson(parent[last], value)) throw unprocessable();
  return document;
}

/** The real server does not say which operation failed. */
function unprocessable(): ApiFailure {
  return new ApiFailure(422, "Invalid", "the server rejected our request due to an error in our request");
}
