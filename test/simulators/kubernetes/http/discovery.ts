import type { JsonObject } from "../api/object.ts";
import { apiVersionOf, type ResourceType } from "../api/resource-type.ts";

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/** What the API says of itself; undefined for a path that is no discovery. */
export function discover(path: string, types: readonly ResourceType[]): JsonObject | undefined {
  const parts = path.split("/").filter((part) => part !== "");
  const [root, first, second] = parts;
  if (path === "/version") return version();
  if (root === "api" && parts.length === 1)
    return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
  if (root === "api" && parts.length === 2) return resources("", first ?? "", types);
  if (root !== "apis") return undefined;
  const groups = [...new Set(types.map(({ group }) => group))].filter((group) => group !== "");
  if (parts.length === 1)
    return {
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: groups.map((group) => describeGroup(group, types)),
    };
  if (first === undefined || !groups.includes(first)) return undefined;
  if (parts.length === 2) return { kind: "APIGroup", apiVersion: "v1", ...describeGroup(first, types) };
  return parts.length === 3 ? resources(first, second ?? "", types) : undefined;
}

function version(): JsonObject {
  return {
    major: "1",
    minor: "36",
    gitVersion: "v1.36.3",
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "go1.26",
    compiler: "gc",
    platform: "linux/amd64",
  };
}

function describeGroup(group: string, types: readonly ResourceType[]): JsonObject {
  const versions = [...new Set(types.filter((type) => type.group === group).map((type) => type.version))]
    .sort()
    .reverse()
    .map((name) => ({ groupVersion: `${group}/${name}`, version: name }));
  return { name: group, versions, preferredVersion: versions[0] };
}

function resources(group: string, name: string, types: readonly ResourceType[]): JsonObject | undefined {
  const served = types.filter((type) => type.group === group && type.version === name);
  if (served.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: apiVersionOf({ group, version: name }),
    resources: served.flatMap((type) => [
      describeType(type),
      ...type.subresources.map((one) => describePart(type, one)),
    ]),
  };
}

function describeType({ plural, singular, namespaced, kind, shortNames, virtual }: ResourceType): JsonObject {
  return {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: virtual ? ["create"] : VERBS,
    ...(shortNames ? { shortNames } : {}),
  };
}

function describePart({ plural, namespaced, kind }: ResourceType, subresource: string): JsonObject {
  const verbs = { status: ["get", "patch", "update"], log: ["get"], binding: ["create"] }[subresource] ?? [];
  const partKind = subresource === "binding" ? "Binding" : kind;
  return { name: `${plural}/${subresource}`, singularName: "", namespaced, kind: partKind, verbs };
}
