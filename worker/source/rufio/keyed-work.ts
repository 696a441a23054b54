import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";

export interface Failure {
  readonly thrown: unknown;
  /** How many in a row. */
  readonly failures: number;
  readonly waitMs: number;
}

export interface KeyedWorkOptions {
  /** Brings what the key stands for to where it should be. Rejects where that is to be tried again. */
  readonly work: (key: string, signal: AbortSignal) => Promise<void>;
  /** Called with each failure, before it is tried again. */
  readonly onFailure: (key: string, failure: Failure) => void;
  readonly clock: Clock;
  /** Keys at a time. */
  readonly most: number;
}

/** As controller-runtime's rate limiter in kind: an object that fails is tried again later and later. */
const AGAIN: Backoff = { firstMs: 250, maxMs: 30_000, jitter: 0.5 };

/**
 * Level-triggered work, as controllers do it: a key that is added many times before its turn is worked at once, one that is
 * added while it is worked at is worked at again, and never two at a time for one key.
 */
export class KeyedWork {
  readonly #options: KeyedWorkOptions;
  readonly #waiting = new Set<string>();
  readonly #underWay = new Set<string>();
  /** Failures in a row, by key. */
  readonly #failures = new Map<string, number>();
  readonly #wake: () => void;
  #woken = Promise.withResolvers<void>();

  constructor(options: KeyedWorkOptions) {
    this.#options = options;
    this.#wake = () => this.#woken.resolve();
  }

  add(key: string): void {
    this.#waiting.add(key);
    this.#wake();
  }

  /** Until the signal aborts and what is under way has ended. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", this.#wake, { once: true });
    const all = new Set<Promise<void>>();
    while (!signal.aborted) {
      this.#woken = Promise.withResolvers();
      for (const key of this.#waiting) {
        if (this.#underWay.size >= this.#options.most) break;
        if (this.#underWay.has(key)) continue;
        this.#waiting.delete(key);
        this.#underWay.add(key);
        const one = this.#workAt(key, signal).finally(() => all.delete(one));
        all.add(one);
      }
      await this.#woken.promise;
    }
    signal.removeEventListener("abort", this.#wake);
    await Promise.all(all);
  }

  async #workAt(key: string, signal: AbortSignal): Promise<void> {
    const { work, onFailure, clock } = this.#options;
    try {
      await work(key, signal);
      this.#failures.delete(key);
    } catch (thrown) {
      if (signal.aborted) return;
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      const waitMs = backoffMs(AGAIN, failures);
      onFailure(key, { thrown, failures, waitMs });
      void clock.sleep(waitMs, signal).then(
        () => this.add(key),
        () => undefined,
      );
    } finally {
      this.#underWay.delete(key);
      this.#wake();
    }
  }
}
