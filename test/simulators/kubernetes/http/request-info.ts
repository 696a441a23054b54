import { nameInFieldSelector } from "../api/selectors.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** A request for a resource, taken apart as the API server's RequestInfo is. */
export interface ResourceRequest {
  readonly verb: Verb;
  readonly group: string;
  readonly version: string;
  /** The plural. */
  readonly resource: string;
  readonly subresource: string;
  /** "" for cluster-scoped resources and for all namespaces. */
  readonly namespace: string;
  /** "" where the request is about no one object. */
  readonly name: string;
}

const VERBS: Readonly<Record<string, readonly [one: Verb, many: Verb]>> = {
  GET: ["get", "list"],
  POST: ["create", "create"],
  PUT: ["update", "update"],
  PATCH: ["patch", "patch"],
  DELETE: ["delete", "deletecollection"],
};

/** Undefined for a path outside the resources: discovery, health, version. */
export function parseResourceRequest(method: string, url: URL): ResourceRequest | undefined {
  const parts = url.pathname
    .split("/")
    .filter((part) => part !== "")
    .map(decodeURIComponent);
  const [root, ...rest] = parts;
  const [group, version, path] =
    root === "api"
      ? ["", rest[0], rest.slice(1)]
      : root === "apis"
        ? [rest[0], rest[1], rest.slice(2)]
        : [undefined, undefined, []];
  if (group === undefined || version === undefined || path.length === 0) return undefined;
  const place = placeOf(path);
  const verb = verbOf(method, url, place.name);
  if (verb === undefined) return undefined;
  const selected =
    verb === "list" || verb === "watch"
      ? nameInFieldSelector(url.searchParams.get("fieldSelector") ?? "")
      : undefined;
  return { verb, group, version, ...place, name: place.name || (selected ?? "") };
}

function placeOf(
  path: readonly string[],
): Pick<ResourceRequest, "namespace" | "resource" | "name" | "subresource"> {
  const [first = "", second = "", third = ""] = path;
  const insideNamespace =
    first === "namespaces" && path.length > 2 && third !== "status" && third !== "finalize";
  if (insideNamespace) {
    const [, , resource = "", name = "", ...more] = path;
    return { namespace: second, resource, name, subresource: more.join("/") };
  }
  const subresource = path.slice(2).join("/");
  return { namespace: first === "namespaces" ? second : "", resource: first, name: second, subresource };
}

function verbOf(method: string, url: URL, name: string): Verb | undefined {
  const verbs = VERBS[method];
  if (!verbs) return undefined;
  const verb = verbs[name === "" ? 1 : 0];
  return verb === "list" && ["true", "1"].includes(url.searchParams.get("watch") ?? "") ? "watch" : verb;
}
