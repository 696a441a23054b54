import type { ResourceRequest, Verb } from "./request-info.ts";

/** One request as it came in, before anything was decided about it. */
export interface SeenRequest extends Omit<ResourceRequest, "verb"> {
  /** "" for a request outside the resources: `/version`, discovery, health. */
  readonly verb: Verb | "";
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Undefined for one that nobody knows. */
  readonly user: string | undefined;
  readonly userAgent: string;
  /** As it was sent; "" without one. */
  readonly body: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Which requests are meant: those that agree with every field, or those that the function picks. */
export type RequestMatcher =
  | Partial<
      Pick<
        SeenRequest,
        "verb" | "group" | "resource" | "subresource" | "namespace" | "name" | "user" | "method"
      >
    >
  | ((request: SeenRequest) => boolean);

export function matchesRequest(matcher: RequestMatcher, request: SeenRequest): boolean {
  if (typeof matcher === "function") return matcher(request);
  return Object.entries(matcher).every(([field, value]) => request[field as keyof SeenRequest] === value);
}
