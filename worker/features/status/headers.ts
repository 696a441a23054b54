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

/** For every answer of the status page. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
};

/** For content that changes. */
export const MOMENTARY_HEADERS: Readonly<Record<string, string>> = {
  ...PAGE_HEADERS,
  "Cache-Control": "no-store",
};
