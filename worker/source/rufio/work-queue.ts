import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";

export interface Failure {
  readonly thrown: unknown;
  /** Failures in a row. */
  readonly failures: number;
  readonly waitMs: number;
}

export interface WorkQueueOptions {
  /** Reconciles what the key stands for. Rejects to be retried. */
  readonly work: (key: string, signal: AbortSignal) => Promise<void>;
  /** Called after each failure, before the retry. */
  readonly onFailure: (key: string, failure: Failure) => void;
  readonly clock: Clock;
  /** Concurrent keys. */
  readonly most: number;
}

/** Like controller-runtime's rate limiter, per key. */
const AGAIN: Backoff = { firstMs: 250, maxMs: 30_000, jitter: 0.5 };

/**
 * A level-triggered work queue, as in controllers: a key that is added several times is processed once, a key that is
 * added while it is processed is processed again, and never twice at a time.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #underWay = new Set<string>();
  /** Consecutive failures, by key. */
  readonly #failures = new Map<string, number>();
  readonly #wake: () => void;
  #woken = Promise.withResolvers<void>();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#wake = () => this.#woken.resolve();
  }

  add(key: string): void {
    this.#waiting.add(key);
    this.#wake();
  }

  /** Runs until the signal aborts and all work in flight has ended. Never rejects. */
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
