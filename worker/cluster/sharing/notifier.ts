import type { Clock } from "../../../shared/clock.ts";

/** Wakes the waiting task. A notification without a waiting task ends the next wait at once. */
export class Notifier {
  #rung = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves on a notification, after `ms`, or when the signal aborts. Never rejects. */
  async wait(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted && ms > 0) {
      const timer = new AbortController();
      const wake = () => timer.abort();
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
      await clock.sleep(ms, timer.signal).catch(() => undefined);
      signal.removeEventListener("abort", wake);
      this.#wake = undefined;
    }
    this.#rung = false;
  }
}
