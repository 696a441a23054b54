import type { Clock } from "../../../shared/clock.ts";
import type { Timings } from "./timings.ts";

/**
 * Decides which members count. Members that leave stop counting at once, because their lanes are waiting. Members that
 * join count once no other has joined for a moment, so that fifty replicas that start together cause one rebalancing.
 */
export class JoinDebouncer {
  readonly #clock: Clock;
  readonly #timings: Timings;
  readonly #counted = new Set<string>();
  readonly #waiting = new Set<string>();
  #firstMs = 0;
  #lastMs = 0;

  constructor(clock: Clock, timings: Timings) {
    this.#clock = clock;
    this.#timings = timings;
  }

  /** Treats all members as new, for a replica that has just joined itself. */
  forget(): void {
    this.#counted.clear();
  }

  /** Returns the members that count; `waitMs` is the time until the pending members do. */
  update(present: readonly string[]) {
    const nowMs = this.#clock.monotonicMs();
    const there = new Set(present);
    let changed = false;
    for (const identity of this.#counted) {
      if (!there.has(identity)) changed = this.#counted.delete(identity);
    }
    for (const identity of this.#waiting) if (!there.has(identity)) this.#waiting.delete(identity);
    for (const identity of present) {
      if (this.#counted.has(identity) || this.#waiting.has(identity)) continue;
      if (this.#waiting.size === 0) this.#firstMs = nowMs;
      this.#waiting.add(identity);
      this.#lastMs = nowMs;
    }
    let waitMs = Number.POSITIVE_INFINITY;
    if (this.#waiting.size > 0) {
      const { joinDebounceMs, joinMaxWaitMs } = this.#timings;
      waitMs = Math.min(this.#lastMs + joinDebounceMs, this.#firstMs + joinMaxWaitMs) - nowMs;
      if (waitMs <= 0) {
        for (const identity of this.#waiting) this.#counted.add(identity);
        this.#waiting.clear();
        changed = true;
        waitMs = Number.POSITIVE_INFINITY;
      }
    }
    return { members: [...this.#counted], changed, waitMs };
  }
}
