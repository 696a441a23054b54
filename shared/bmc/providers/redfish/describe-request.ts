import type { HttpRequest } from "./http-client.ts";

/** The request in words: never its body, which may hold a password. */
export function describe(request: Pick<HttpRequest, "method" | "path">): string {
  return `${request.method} ${request.path}`;
}
