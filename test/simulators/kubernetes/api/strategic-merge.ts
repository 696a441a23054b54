import { isObject, type JsonObject } from "./object.ts";

/**
 * By which field the items of a list are one and the same; the lists of the kinds served here, from the patchMergeKey
 * of their Go types. Every other list is replaced.
 */
const MERGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  containers: ["name"],
  initContainers: ["name"],
  ephemeralContainers: ["name"],
  volumes: ["name"],
  env: ["name"],
  volumeMounts: ["mountPath"],
  ports: ["containerPort"],
  imagePullSecrets: ["name"],
  hostAliases: ["ip"],
  conditions: ["type"],
  ownerReferences: ["uid"],
  addresses: ["type"],
  secrets: ["name"],
  podIPs: ["ip"],
};
/** Lists of plain values that are united instead of replaced. */
const MERGED_VALUES: readonly string[] = ["finalizers"];

/** A strategic merge patch, with `$patch: replace | delete` and `$deleteFromPrimitiveList`. */
export function strategicMerge(target: unknown, patch: unknown, field = ""): unknown {
  if (Array.isArray(patch)) return mergedList(target, patch, field);
  if (!isObject(patch)) return patch;
  if (patch["$patch"] === "delete") return {};
  if (patch["$patch"] === "replace") return without(patch, "$patch");
  const merged: JsonObject = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    const primitives = /^\$deleteFromPrimitiveList\/(.+)$/.exec(name)?.[1];
    if (primitives !== undefined) {
      const kept = listOf(merged[primitives]).filter((item) => !listOf(value).includes(item));
      merged[primitives] = kept;
    } else if (name.startsWith("$")) continue;
    else if (value === null) delete merged[name];
    else merged[name] = strategicMerge(merged[name], value, name);
  }
  return merged;
}

function mergedList(target: unknown, patch: readonly unknown[], field: string): unknown {
  const existing = listOf(target);
  if (MERGED_VALUES.includes(field)) return [...new Set([...existing, ...patch])];
  const [key] = MERGE_KEYS[field] ?? [];
  if (key === undefined) return patch;
  if (patch.some((item) => isObject(item) && item["$patch"] === "replace" && Object.keys(item).length === 1))
    return patch.filter((item) => !(isObject(item) && "$patch" in item));
  const items = [...existing];
  for (const item of patch) {
    if (!isObject(item)) continue;
    const index = items.findIndex((one) => isObject(one) && one[key] === item[key]);
    if (item["$patch"] === "delete") {
      if (index >= 0) items.splice(index, 1);
    } else if (index >= 0) items[index] = strategicMerge(items[index], item);
    else items.push(strategicMerge({}, item));
  }
  return items;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function without(object: JsonObject, field: string): JsonObject {
  const { [field]: _, ...rest } = object;
  return rest;
}
