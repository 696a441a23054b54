import type { Clock } from "../../clock.ts";

/** How long a reading counts as fresh. */
const FRESH_MS = 2_000;

/** What opening a session read in passing: the first reading after it, if that comes at once, needs no request. */
export class FirstReading<T> {
  readonly #value: T;
  readonly #clock: Clock;
  readonly #freshMs: number;
  /** Undefined once it is used or out of date. */
  #since: number | undefined;

  constructor(value: T, clock: Clock, freshMs = FRESH_MS) {
    this.#value = value;
    this.#clock = clock;
    this.#freshMs = freshMs;
    this.#since = clock.monotonicMs();
  }

  /** Gives the reading once, and only soon after it was made. */
  take(): T | undefined {
    const since = this.#since;
    this.#since = undefined;
    return since !== undefined && this.#clock.monotonicMs() - since <= this.#freshMs
      ? this.#value
      : undefined;
  }

  /** To be called before a write: nothing read so far may pass for the state afterwards. */
  drop(): void {
    this.#since = undefined;
  }
}
