import type { Backoff } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { WorkQueue } from "../../../shared/work-queue.ts";
import { keyOf, nameOfKey, type ObjectName } from "../client/kinds.ts";

export interface ControllerOptions {
  /**
   * Compares one object with its wanted state and changes what differs. Resolves to the time after which to do so again, if that is
   * needed without a change. Rejects to be retried.
   */
  readonly reconcile: (name: ObjectName, signal: AbortSignal) => Promise<number | undefined>;
  /** Whether an error is no failure, such as a conflict. It is retried without a message. */
  readonly isExpected: (thrown: unknown) => boolean;
  readonly failure: {
    readonly message: string;
    /** The field of the object's key. */
    readonly field: string;
    /** What the first failure of is a warning: each object, or all of them, for failures that are those of the API server. */
    readonly warnsOncePer: "object" | "controller";
  };
  readonly retry?: Backoff;
  /** The most objects to reconcile at a time. A namespace leaves slots to the others. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Reconciles objects, as controller-runtime does: watches add the names of what may have changed, each is reconciled once however often it
 * is added, never twice at a time, and again after a failure.
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

  /** Ends a delay of the object, and its retries. */
  cancel(name: ObjectName): void {
    this.#queue.cancel(keyOf(name));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const againMs = await this.#options.reconcile(nameOfKey(key), signal);
    this.#failing.delete(key);
    if (againMs !== undefined && !this.#queue.has(key)) this.#queue.addAfter(key, againMs);
  }
}
