import { setImmediate as untilIoIsRead } from "node:timers/promises";
import type { Clock } from "../shared/clock.ts";

/** For each so many polls that wait beside it, a poll may be held for its time once more. */
const POLLS_PER_HOLD = 10;

/**
 * How far a server has come with the polls of all lanes. It tells a poll that the server holds, because it has nothing for
 * it, from one that waits in line behind many others.
 */
export class PollPace {
  readonly #clock: Clock;
  #answeredMs = Number.NEGATIVE_INFINITY;
  /** When the latest of the polls that have been answered was sent. */
  #frontMs = Number.NEGATIVE_INFINITY;
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A poll that was sent at that time of the monotonic clock has been answered. */
  answered(askedMs: number): void {
    this.#answeredMs = this.#clock.monotonicMs();
    this.#frontMs = Math.max(this.#frontMs, askedMs);
  }

  /**
   * Resolves when the server holds a poll that was sent at `askedMs`: it has answered one that was sent `ms` after it, or, for
   * `ms` and longer the more polls wait, it has answered none at all. Rejects when the signal aborts.
   */
  async held(askedMs: number, ms: number, signal: AbortSignal): Promise<void> {
    this.#waiting += 1;
    try {
      do {
        await this.#clock.sleep(ms, signal);
        // A timer that is late because much came at once fires before what came is read.
        await untilIoIsRead(undefined, { signal });
      } while (!this.#isOvertaken(askedMs, ms) && !this.#isSilent(askedMs, ms));
    } finally {
      this.#waiting -= 1;
    }
  }

  #isOvertaken(askedMs: number, ms: number): boolean {
    return this.#frontMs - askedMs >= ms;
  }

  #isSilent(askedMs: number, ms: number): boolean {
    const silentMs = this.#clock.monotonicMs() - Math.max(askedMs, this.#answeredMs);
    return silentMs >= ms * (1 + (this.#waiting - 1) / POLLS_PER_HOLD);
  }
}
