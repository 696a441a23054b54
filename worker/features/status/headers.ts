import type { ServerResponse } from "node:http";

/** Pages only load and run what the worker serves, and cannot be framed. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

type Headers = Readonly<Record<string, string>>;

/** For every answer of the status page. */
export const PAGE_HEADERS: Headers = {
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
};

/** For content that changes. */
export const MOMENTARY_HEADERS: Headers = { ...PAGE_HEADERS, "Cache-Control": "no-store" };

export function send(
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers = MOMENTARY_HEADERS,
): void {
  const about = { "Content-Type": `${type}; charset=utf-8`, "Content-Length": Buffer.byteLength(text) };
  response.writeHead(status, { ...headers, ...about });
  response.end(text);
}
