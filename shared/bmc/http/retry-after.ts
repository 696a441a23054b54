const LONGEST_MS = 10 * 60_000;

/**
 * Reads a Retry-After header (RFC 9110 section 10.2.3), seconds or an HTTP date, as milliseconds from `nowMs`.
 * Undefined when there is none or it makes no sense; bounded, as BMC clocks are often years off.
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text) * 1_000, LONGEST_MS);
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  return Math.min(Math.max(at - nowMs, 0), LONGEST_MS);
}
