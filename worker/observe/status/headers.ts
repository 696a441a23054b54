/** Nothing but what the worker itself serves is loaded, run, or sent to; no other page may show these in a frame. */
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

/** Of every answer of the status page. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
};

/** What is true now and not later. */
export const MOMENTARY_HEADERS: Readonly<Record<string, string>> = {
  ...PAGE_HEADERS,
  "Cache-Control": "no-store",
};
