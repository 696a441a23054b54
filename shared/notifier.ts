import type { Clock } from "./clock.ts";
import { raceAbort } from "./race-abort.ts";

const WOKEN = new Error("notified");

/** Wakes one waiting task. A notification without a waiting task ends the next wait immediately. */
export class Notifier {
  #isNotified = false;
  #wake: (() => void) | undefined;

  /** May be passed as a callback. */
  readonly notify = (): void => {
    this.#isNotified = true;
    this.#wake?.();
  };

  /** Resolves on a notification, after `ms` (which may be infinite), or when the signal aborts. Never rejects. */
  async wait(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (!this.#isNotified && !signal.aborted && ms > 0) {
      const woken = new AbortController();
      const wake = () => woken.abort(WOKEN);
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
      const over = Number.isFinite(ms)
        ? clock.sleep(ms, woken.signal)
        : raceAbort(new Promise(() => undefined), woken.signal);
      await over.catch(() => undefined);
      signal.removeEventListener("abort", wake);
      this.#wake = undefined;
    }
    this.#isNotified = false;
  }
}
