import { setImmediate as untilIoIsRead } from "node:timers/promises";
import type { Clock } from "../../../shared/clock.ts";

/** The server looks at a held poll again after this time: from then on, a new poll only loses its place in the queue. */
const SERVER_RETRY_MS = 1_000;
/** For each so many polls in the queue, a poll may be held for its time once more. */
const POLLS_PER_HOLD = 10;
/** A poll that takes so many times as long as the fastest of the last ones is held. */
const SLOWER = 4;
const LAST_ANSWERS = 8;
/** Older answers say nothing about the server's load. */
const RECENT_MS = 5_000;
/** Beyond as many at a time, polls that only make sure are left out: thousands of lanes may start at once. */
export const MOST_SURE_POLLS = 100;

/**
 * How fast a server answers the polls of all lanes. Distinguishes a poll that the server holds, because it has nothing for it,
 * from one that is queued: taking back a queued poll is wasted work and makes the queue longer.
 */
export class ServerPace {
  readonly #clock: Clock;
  #answeredMs = Number.NEGATIVE_INFINITY;
  /** When the latest of the answered polls was sent. */
  #frontMs = Number.NEGATIVE_INFINITY;
  /** The durations of the last answers. */
  #tookMs: readonly number[] = [];
  #waiting = 0;
  #surePolls = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A poll that was sent at that time of the monotonic clock has been answered. */
  answered(sentMs: number): void {
    this.#answeredMs = this.#clock.monotonicMs();
    this.#frontMs = Math.max(this.#frontMs, sentMs);
    this.#tookMs = [...this.#tookMs.slice(1 - LAST_ANSWERS), this.#answeredMs - sentMs];
  }

  /** Sends a poll that only makes sure. Resolves to undefined, and sends nothing, if there are too many of them. */
  async makeSure<T>(poll: () => Promise<T>): Promise<T | undefined> {
    if (this.#surePolls >= MOST_SURE_POLLS) return undefined;
    this.#surePolls += 1;
    try {
      return await poll();
    } finally {
      this.#surePolls -= 1;
    }
  }

  /**
   * Resolves when the server holds a poll that was sent at `sentMs`: not before `ms`, and later the busier the server is.
   * Rejects when the signal aborts.
   */
  async held(sentMs: number, ms: number, signal: AbortSignal): Promise<void> {
    this.#waiting += 1;
    try {
      do {
        const ageMs = this.#clock.monotonicMs() - sentMs;
        // The worker checks older polls less and less often: the server may hold thousands.
        await this.#clock.sleep(ageMs < SERVER_RETRY_MS ? ms : ageMs, signal);
        // Under load a timer fires late, before the answers that have arrived are read.
        await untilIoIsRead(undefined, { signal });
      } while (!this.#isHeld(sentMs, ms));
    } finally {
      this.#waiting -= 1;
    }
  }

  #isHeld(sentMs: number, ms: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    const isOvertaken = this.#frontMs - sentMs >= ms;
    const queueMs = isOvertaken ? 0 : (ms * (this.#waiting - 1)) / POLLS_PER_HOLD;
    const usualMs = nowMs - this.#answeredMs < RECENT_MS ? Math.min(...this.#tookMs) : 0;
    const limitMs = Math.max(ms + queueMs, SLOWER * usualMs);
    const sinceMs = isOvertaken ? sentMs : Math.max(sentMs, this.#answeredMs);
    return limitMs < SERVER_RETRY_MS && nowMs - sinceMs >= limitMs;
  }
}
