import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import { Notifier } from "../../../shared/notifier.ts";

interface Failure {
  readonly thrown: unknown;
  readonly failures: number;
  readonly waitMs: number;
}

export interface WorkQueueOptions {
  /** Reconciles what the key stands for. Rejects to be retried. */
  readonly work: (key: string, signal: AbortSignal) => Promise<void>;
  readonly onFailure: (key: string, failure: Failure) => void;
  readonly clock: Clock;
  readonly concurrency: number;
}

/** Like controller-runtime's rate limiter, per key. */
const RETRY: Backoff = { firstMs: 250, maxMs: 30_000, jitter: 0.5 };

/**
 * A level-triggered work queue, as in controllers: a key that is added several times is processed once, a key that is
 * added while it is processed is processed again, and never twice at a time.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #inFlight = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #notifier = new Notifier();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    this.#waiting.add(key);
    this.#notifier.notify();
  }

  /** Runs until the signal aborts and all work in flight has ended. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const all = new Set<Promise<void>>();
    while (!signal.aborted) {
      for (const key of this.#waiting) {
        if (this.#inFlight.size >= this.#options.concurrency) break;
        if (this.#inFlight.has(key)) continue;
        this.#waiting.delete(key);
        this.#inFlight.add(key);
        const one = this.#process(key, signal).finally(() => all.delete(one));
        all.add(one);
      }
      await this.#notifier.wait(Number.POSITIVE_INFINITY, this.#options.clock, signal);
    }
    await Promise.all(all);
  }

  async #process(key: string, signal: AbortSignal): Promise<void> {
    const { work, onFailure, clock } = this.#options;
    try {
      await work(key, signal);
      this.#failures.delete(key);
    } catch (thrown) {
      if (signal.aborted) return;
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      const waitMs = backoffMs(RETRY, failures);
      onFailure(key, { thrown, failures, waitMs });
      void clock.sleep(waitMs, signal).then(
        () => this.add(key),
        () => undefined,
      );
    } finally {
      this.#inFlight.delete(key);
      this.#notifier.notify();
    }
  }
}
