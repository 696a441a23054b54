/** How the pauses between attempts grow, in milliseconds. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** The growth from one pause to the next. Default: 2. */
  readonly factor?: number;
  /** The random fraction of a pause, 0 to 1, so that many clients do not retry at once. */
  readonly jitter?: number;
}

/** The pause before attempt `attempt + 1`; `attempt` counts from 1. */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number = Math.random): number {
  const grown = Math.min(backoff.maxMs, backoff.firstMs * (backoff.factor ?? 2) ** (attempt - 1));
  return Math.round(grown * (1 - (backoff.jitter ?? 0) * random()));
}
