import { errorCode } from "./network-reason.ts";

const DAY_MS = 86_400_000;

/** A certificate's validity, and the time by this host's clock and by the peer's. All in milliseconds since the epoch. */
export interface CertificateTimes {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly nowMs: number;
  /** The `Date` of the peer's answer; undefined if it gives none. */
  readonly peerMs: number | undefined;
}

/** What the clocks say about a certificate that is outside its validity. */
export interface ClockFinding {
  /** The end of a sentence about the certificate. */
  readonly text: string;
  /** Whether the peer's clock contradicts this host's, and the certificate is valid by the peer's. */
  readonly isClockWrong: boolean;
}

/**
 * Compares the clocks of both sides if a certificate is outside its validity: a clock that is off makes every certificate
 * look expired or not valid yet. Undefined if the certificate is valid now.
 */
export function findClockProblem(times: CertificateTimes, peer: string): ClockFinding | undefined {
  const { fromMs, untilMs, nowMs, peerMs } = times;
  const isValidAt = (ms: number) => fromMs <= ms && ms <= untilMs;
  if (isValidAt(nowMs)) return undefined;
  const valid = `valid from ${dateOf(fromMs)} to ${dateOf(untilMs)}`;
  const own = `this host's clock says ${dateOf(nowMs)}`;
  if (peerMs === undefined || Number.isNaN(peerMs)) {
    const text = `it is ${valid}, and ${own}; correct that clock if it is wrong`;
    return { text, isClockWrong: false };
  }
  const differ = Math.abs(peerMs - nowMs) > DAY_MS;
  const both = `${own}, ${peer}'s ${dateOf(peerMs)}`;
  if (!differ || !isValidAt(peerMs)) return { text: `it is ${valid}; ${both}`, isClockWrong: false };
  return { text: `it is ${valid}; ${both}: correct the clock that is wrong`, isClockWrong: true };
}

const OUTSIDE_VALIDITY: ReadonlySet<string> = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);
const MOST_CAUSES = 8;

/**
 * The end of a sentence about a failed TLS handshake, which names this host's clock if a certificate is outside its validity
 * by that clock; empty for other errors. Checks the causes as well.
 */
export function ownClockNote(thrown: unknown, nowMs = Date.now()): string {
  let cause = thrown;
  for (let depth = 0; depth < MOST_CAUSES && cause instanceof Error; depth += 1) {
    if (OUTSIDE_VALIDITY.has(errorCode(cause))) {
      return `; this host's clock says ${dateOf(nowMs)}: correct it if it is wrong`;
    }
    cause = cause.cause;
  }
  return "";
}

/** A date such as `2027-06-20`. */
function dateOf(ms: number): string {
  return Number.isNaN(ms) ? "an unknown date" : new Date(ms).toISOString().slice(0, 10);
}
