import { setImmediate as untilIoIsRead } from "node:timers/promises";
import type { Clock } from "../../shared/clock.ts";

/** The server looks again after so long by itself: from then on a new poll only loses the place in line. */
const SERVER_RETRY_MS = 1_000;
/** For each so many polls that wait beside it, a poll may be held for its time once more. */
const POLLS_PER_HOLD = 10;
/** A poll that takes so many times as long as the fastest of the last ones is held. */
const SLOWER = 4;
const LAST_ANSWERS = 8;
/** Older answers say nothing about how busy the server is. */
const RECENT_MS = 5_000;

/**
 * How fast a server answers the polls of all lanes. It tells a poll that the server holds, because it has nothing for it, from
 * one that waits in line: a poll that is taken back while it waits in line is work for nothing, and makes the line longer.
 */
export class PollPace {
  readonly #clock: Clock;
  #answeredMs = Number.NEGATIVE_INFINITY;
  /** When the latest of the polls that have been answered was sent. */
  #frontMs = Number.NEGATIVE_INFINITY;
  /** What the last answers took. */
  #tookMs: readonly number[] = [];
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A poll that was sent at that time of the monotonic clock has been answered. */
  answered(askedMs: number): void {
    this.#answeredMs = this.#clock.monotonicMs();
    this.#frontMs = Math.max(this.#frontMs, askedMs);
    this.#tookMs = [...this.#tookMs.slice(1 - LAST_ANSWERS), this.#answeredMs - askedMs];
  }

  /**
   * Resolves when the server holds a poll that was sent at `askedMs`: not before `ms`, and later the busier the server is.
   * Rejects when the signal aborts.
   */
  async held(askedMs: number, ms: number, signal: AbortSignal): Promise<void> {
    this.#waiting += 1;
    try {
      do {
        await this.#clock.sleep(ms, signal);
        // A timer that is late because much came at once fires before what came is read.
        await untilIoIsRead(undefined, { signal });
      } while (!this.#isHeld(askedMs, ms));
    } finally {
      this.#waiting -= 1;
    }
  }

  #isHeld(askedMs: number, ms: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    const isOvertaken = this.#frontMs - askedMs >= ms;
    const lineMs = isOvertaken ? 0 : (ms * (this.#waiting - 1)) / POLLS_PER_HOLD;
    const usualMs = nowMs - this.#answeredMs < RECENT_MS ? Math.min(...this.#tookMs) : 0;
    const limitMs = Math.max(ms + lineMs, SLOWER * usualMs);
    const sinceMs = isOvertaken ? askedMs : Math.max(askedMs, this.#answeredMs);
    return limitMs < SERVER_RETRY_MS && nowMs - sinceMs >= limitMs;
  }
}
