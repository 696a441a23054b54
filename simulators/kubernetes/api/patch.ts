import { ApiFailure, badRequest } from "./failure.ts";
import { isObject, isSameJson, type JsonObject } from "./object.ts";

export const MERGE_PATCH = "application/merge-patch+json";
export const APPLY_PATCH = "application/apply-patch+yaml";
const JSON_PATCH = "application/json-patch+json";

export function applyPatch(contentType: string, target: unknown, patch: unknown): unknown {
  if (contentType === MERGE_PATCH) return mergePatch(target, patch);
  if (contentType === JSON_PATCH && Array.isArray(patch))
    return patch.reduce(applyOperation, structuredClone(target));
  if (contentType === JSON_PATCH) throw badRequest("error decoding patch: a JSON patch is a list");
  throw new ApiFailure(415, "UnsupportedMediaType", `the fake API server has no patches of ${contentType}`);
}

/**
 * Server-side apply of a whole object by one manager, which last applied `applied`: removes what `applied` has and `patch`
 * lacks, then merges. No field has another manager, so that every apply is like a forced one. Lists are atomic.
 */
export function applyObject(target: unknown, patch: unknown, applied: unknown): unknown {
  return mergePatch(withoutApplied(target, patch, applied), patch);
}

function withoutApplied(target: unknown, patch: unknown, applied: unknown): unknown {
  if (!isObject(target) || !isObject(applied)) return target;
  const fields = Object.entries(target).flatMap(([field, value]) => {
    if (!(field in applied)) return [[field, value]];
    const next = isObject(patch) ? patch[field] : undefined;
    const left = withoutApplied(value, next, applied[field]);
    const isGone = next === undefined && (!isObject(left) || Object.keys(left).length === 0);
    return isGone ? [] : [[field, left]];
  });
  return Object.fromEntries(fields);
}

/** Applies a JSON merge patch (RFC 7386). */
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

/** Applies a JSON patch operation (RFC 6902) and changes `document`. Supports neither `move` and `copy` nor lists. */
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

/** Refuses a patch. The real server does not say which operation failed either. */
function unprocessable(): ApiFailure {
  return new ApiFailure(422, "Invalid", "the server rejected our request due to an error in our request");
}
