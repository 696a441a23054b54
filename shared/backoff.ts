/** How waits grow between attempts, in milliseconds. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Growth from one attempt to the next; 2 when left out. */
  readonly factor?: number;
  /** Share of the wait that is random, 0 to 1, so that many waiters do not retry at once. */
  readonly jitter?: number;
}

/** The wait before attempt `attempt + 1`, where `attempt` counts from 1. */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number = Math.random): number {
  const grown = Math.min(backoff.maxMs, backoff.firstMs * (backoff.factor ?? 2) ** (attempt - 1));
  return Math.round(grown * (1 - (backoff.jitter ?? 0) * random()));
}
