import type { Backoff } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { WorkQueue } from "../../../shared/work-queue.ts";
import { keyOf, nameOfKey, type ObjectName } from "../client/kinds.ts";

export interface ControllerOptions {
  /**
   * Compares one object with its desired state and changes what differs. Resolves to the delay until the next call, if one is
   * needed even without a change. A rejection is retried.
   */
  readonly reconcile: (name: ObjectName, signal: AbortSignal) => Promise<number | undefined>;
  /** Whether an error is expected, such as a conflict, so that it is retried without a log message. */
  readonly isExpected: (thrown: unknown) => boolean;
  readonly failure: {
    readonly message: string;
    /** The log field for the object's key. */
    readonly field: string;
    /** Whether to warn of the first failure of each object, or only of the first of all, because the API server is the likely cause. */
    readonly warnsOncePer: "object" | "controller";
  };
  readonly retry?: Backoff;
  /** The most objects to reconcile at a time. One namespace never uses all slots. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Reconciles objects like controller-runtime: watches add the names of objects that may have changed. An object that is added
 * several times is reconciled once, never concurrently with itself, and again after a failure.
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #failing = new Set<string>();

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { clock, concurrency, failure, isExpected, log, retry } = options;
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      onFailure: (key, { thrown, failures, waitMs }) => {
        if (isExpected(thrown)) return;
        const isFirst = failure.warnsOncePer === "object" ? failures === 1 : this.#failing.size === 0;
        this.#failing.add(key);
        const facts = { [failure.field]: key, error: textOf(thrown), waitMs };
        logOutage(log, isFirst, facts, failure.message);
      },
      clock,
      concurrency,
      tenantOf: (key) => nameOfKey(key).namespace,
      ...(retry && { retry }),
    });
  }

  /** Runs until the signal aborts and nothing is in flight. Never rejects. */
  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal);
  }

  add(name: ObjectName): void {
    this.#queue.add(keyOf(name));
  }

  /** Cancels the object's scheduled call and its retries. */
  cancel(name: ObjectName): void {
    this.#queue.cancel(keyOf(name));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const againMs = await this.#options.reconcile(nameOfKey(key), signal);
    this.#failing.delete(key);
    if (againMs !== undefined && !this.#queue.has(key)) this.#queue.addAfter(key, againMs);
  }
}
