import type { Clock } from "../../clock.ts";

/** How long a reading counts as fresh. */
const FRESH_MS = 2_000;

/** A value that was read while a session was opened. The next reading needs no request if it follows soon enough. */
export class FirstReading<T> {
  readonly #value: T;
  readonly #clock: Clock;
  readonly #freshMs: number;
  /** When it was read; undefined once it is used or out of date. */
  #since: number | undefined;

  constructor(value: T, clock: Clock, freshMs = FRESH_MS) {
    this.#value = value;
    this.#clock = clock;
    this.#freshMs = freshMs;
    this.#since = clock.monotonicMs();
  }

  /** Returns the value once, and only shortly after it was read. */
  take(): T | undefined {
    const since = this.#since;
    this.#since = undefined;
    return since !== undefined && this.#clock.monotonicMs() - since <= this.#freshMs
      ? this.#value
      : undefined;
  }

  /** Drops the value. Call this before a write, because earlier values must not count as the state afterwards. */
  drop(): void {
    this.#since = undefined;
  }
}
