import type { Clock } from "../../shared/clock.ts";

/** Gives out turns, evenly spaced: at most so many per second, without bursts. */
export class Pacer {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number, clock: Clock) {
    this.#spacingMs = 1_000 / perSecond;
    this.#clock = clock;
  }

  /** Resolves when it is the caller's turn; rejects with the signal's reason. */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const nowMs = this.#clock.monotonicMs();
    const atMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = atMs + this.#spacingMs;
    if (atMs > nowMs) await this.#clock.sleep(atMs - nowMs, signal);
  }
}
