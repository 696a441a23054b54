import type { Clock } from "../../shared/clock.ts";

/** Time passes when a test says so, and the wall clock jumps when it is set. */
export class SetClock implements Clock {
  wallMs: number;
  monotonic = 1_000;
  readonly #waiting = new Set<{ readonly untilMs: number; readonly wake: () => void }>();

  constructor(start = "2026-03-01T08:00:00Z") {
    this.wallMs = Date.parse(start);
  }

  now(): number {
    return this.wallMs;
  }

  monotonicMs(): number {
    return this.monotonic;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) reject(signal.reason);
      const waiting = { untilMs: this.monotonic + ms, wake: resolve };
      this.#waiting.add(waiting);
      signal?.addEventListener("abort", () => {
        this.#waiting.delete(waiting);
        reject(signal.reason);
      });
    });
  }

  /** Advances the time, also of sleepers. */
  pass(ms: number): void {
    this.monotonic += ms;
    this.wallMs += ms;
    for (const waiting of [...this.#waiting]) {
      if (waiting.untilMs > this.monotonic) continue;
      this.#waiting.delete(waiting);
      waiting.wake();
    }
  }
}
