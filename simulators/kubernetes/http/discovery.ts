import type { JsonObject } from "../api/object.ts";
import { apiVersionOf, type ResourceType } from "../api/resource-types.ts";

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/**
 * Returns the server's groups and kinds at a path of the discovery API, which clients request first, or undefined for any
 * other path.
 */
export function discoveryAt(path: string, types: readonly ResourceType[]): JsonObject | undefined {
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"] };
  if (path === "/apis") {
    const names = [...new Set(types.map(({ group }) => group))].filter((group) => group !== "");
    return { kind: "APIGroupList", apiVersion: "v1", groups: names.map((name) => groupOf(name, types)) };
  }
  const groupVersion = /^\/apis?\/(.+)$/.exec(path)?.[1];
  const served = types.filter((type) => apiVersionOf(type) === groupVersion);
  if (groupVersion === undefined || served.length === 0) return undefined;
  const resources = served.flatMap(({ plural: name, kind, namespaced, hasStatus }) => {
    const resource = { name, singularName: "", kind, namespaced, verbs: VERBS };
    return hasStatus ? [resource, { ...resource, name: `${name}/status` }] : [resource];
  });
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources };
}

function groupOf(name: string, types: readonly ResourceType[]): JsonObject {
  const found = new Set(types.filter(({ group }) => group === name).map(({ version }) => version));
  const versions = [...found].map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions.at(0) };
}
