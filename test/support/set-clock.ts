import type { Clock } from "../../shared/clock.ts";

/** A clock that stands still until it is moved; it has no timers. */
export class SetClock implements Clock {
  #elapsedMs = 0;
  readonly #startMs = Date.parse("2026-03-01T08:00:00Z");

  pass(ms: number): void {
    this.#elapsedMs += ms;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  sleep(): Promise<void> {
    return Promise.reject(new Error("this clock has no timers"));
  }
}
