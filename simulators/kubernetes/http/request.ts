import type { IncomingMessage } from "node:http";
import type { AccessRequest } from "../api/rbac.ts";
import { nameInFieldSelector } from "../api/selectors.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** The meaning of a path and a method, like RequestInfo of the API server. */
export interface ResourceRequest extends AccessRequest {
  readonly verb: Verb;
  readonly version: string;
}

/** A recorded request. The fields about its resource are "" for a request such as `/version`. */
export interface SeenRequest extends Omit<ResourceRequest, "verb"> {
  readonly verb: Verb | "";
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The user; undefined for an unknown token. */
  readonly user: string | undefined;
  readonly userAgent: string;
  readonly body: string;
}

/** Matches requests that agree with every field, or for which the function returns true. */
export type RequestMatcher = Partial<SeenRequest> | ((request: SeenRequest) => boolean);

export function matchesRequest(matcher: RequestMatcher, request: SeenRequest): boolean {
  if (typeof matcher === "function") return matcher(request);
  return Object.entries(matcher).every(([field, value]) => request[field as keyof SeenRequest] === value);
}

const NO_RESOURCE = {
  verb: "",
  group: "",
  version: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
};

export function seenRequest(
  { method = "GET", url: path = "/", headers }: IncomingMessage,
  resource: ResourceRequest | undefined,
  user: string | undefined,
  body: string,
): SeenRequest {
  const query = new URL(path, "https://cluster").searchParams;
  const userAgent = headers["user-agent"] ?? "";
  return { ...NO_RESOURCE, verb: "", ...resource, method, path, query, user, userAgent, body };
}

const OF_MANY: readonly Verb[] = ["list", "watch", "deletecollection"];

/** Parses a request. Returns undefined for a path that is not about a resource. */
export function parseResourceRequest(method: string, url: URL): ResourceRequest | undefined {
  const parts = url.pathname.split("/").slice(1).map(decodeURIComponent);
  const group = parts.shift() === "api" ? "" : (parts.shift() ?? "");
  const [version = "", ...path] = parts;
  const namespace = path[0] === "namespaces" && path.length > 2 ? path.splice(0, 2)[1] : undefined;
  const [resource, namedInPath = "", subresource = ""] = path;
  const verb = verbOf(method, url.searchParams, namedInPath);
  if (!verb || !resource) return undefined;
  const selected = nameInFieldSelector(url.searchParams.get("fieldSelector") ?? "");
  const name = namedInPath || (OF_MANY.includes(verb) ? (selected ?? "") : "");
  return { verb, group, version, resource, subresource, namespace: namespace ?? "", name };
}

function verbOf(method: string, query: URLSearchParams, name: string): Verb | undefined {
  if (method === "GET" && name === "") return query.get("watch") === "true" ? "watch" : "list";
  if (method === "DELETE" && name === "") return "deletecollection";
  const verbs = { GET: "get", POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" } as const;
  return verbs[method as keyof typeof verbs];
}
