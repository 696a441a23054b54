import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../shared/clock.ts";

/** Work that only waits for this clock settles within this many turns of the event loop. */
const TURNS = 4;

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

/** A clock that jumps to its next timer as soon as nothing else is left to do. */
export class VirtualClock implements Clock {
  readonly #startMs = Date.parse("2026-03-01T08:00:00Z");
  readonly #timers = new Set<Timer>();
  #elapsedMs = 0;

  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        this.#timers.delete(timer);
        reject(signal?.reason);
      };
      const fire = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const timer = { atMs: this.#elapsedMs + ms, fire };
      this.#timers.add(timer);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Lets time pass until the condition holds. Rejects when nothing more would happen, or after `limitMs`. */
  async until(condition: () => boolean, limitMs: number): Promise<void> {
    const endMs = this.#elapsedMs + limitMs;
    for (;;) {
      for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
      if (condition()) return;
      const [next] = [...this.#timers].toSorted((one, other) => one.atMs - other.atMs);
      if (!next || next.atMs > endMs) throw new Error(`the condition does not hold within ${limitMs} ms`);
      this.#timers.delete(next);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.atMs);
      next.fire();
    }
  }
}
