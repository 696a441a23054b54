import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../../shared/clock.ts";

/** How often it checks which machines are still paused. */
const LOOK_MS = 250;
/** Waits that end per turn of the event loop: afterwards each action is decided anew. */
const ENDS_PER_TURN = 50;

interface Wait {
  readonly isOver: () => boolean;
  readonly end: () => void;
}

/** The waits of all actions whose machines are paused. They share one timer, because a whole site may be paused. */
export class PauseWatch {
  readonly #clock: Clock;
  readonly #waits = new Set<Wait>();
  #isLooking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether an action waits, so that changes of files are urgent. */
  get isWaiting(): boolean {
    return this.#waits.size > 0;
  }

  /** Resolves when `isOver` returns true, which must be cheap, after `ms`, or when the signal aborts. Never rejects. */
  async until(isOver: () => boolean, ms: number, stop: AbortSignal): Promise<void> {
    const endMs = this.#clock.monotonicMs() + ms;
    const ended = Promise.withResolvers<void>();
    const wait = {
      isOver: () => isOver() || this.#clock.monotonicMs() >= endMs,
      end: () => ended.resolve(),
    };
    if (stop.aborted) return;
    stop.addEventListener("abort", wait.end, { once: true });
    this.#waits.add(wait);
    void this.#look();
    await ended.promise;
    this.#waits.delete(wait);
    stop.removeEventListener("abort", wait.end);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    while (this.#waits.size > 0) {
      await this.#clock.sleep(LOOK_MS);
      let ends = 0;
      for (const wait of this.#waits) {
        if (!wait.isOver()) continue;
        wait.end();
        ends += 1;
        if (ends % ENDS_PER_TURN === 0) await nextTurn();
      }
    }
    this.#isLooking = false;
  }
}
