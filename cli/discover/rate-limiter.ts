import type { Clock } from "../../shared/clock.ts";

/** Limits how often callers act per second, evenly spaced and without bursts. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number, clock: Clock) {
    this.#spacingMs = 1_000 / perSecond;
    this.#clock = clock;
  }

  /** Resolves when the caller may act; rejects with the signal's reason. */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const nowMs = this.#clock.monotonicMs();
    const atMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = atMs + this.#spacingMs;
    if (atMs > nowMs) await this.#clock.sleep(atMs - nowMs, signal);
  }
}
