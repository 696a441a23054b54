import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { EndedAction, Need, Runtime } from "../ports/runtime.ts";

export interface OrphanSweepOptions {
  readonly runtime: Runtime;
  /** Whether the container or process of an action is still needed, by action key. */
  readonly isNeeded: (key: string) => Need;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Pause after a failed removal. */
const SOON_MS = 10_000;
const REMOVE_TIMEOUT_MS = 30_000;
/**
 * The maximum number of failed removals to retry. A runtime may never be able to remove anything, for example without
 * permission.
 */
const MOST_LEFT = 1_000;
const SWEEP_INTERVAL_MS = 60 * 60_000;
const SWEEP_BACKOFF: Backoff = { firstMs: 1_000, maxMs: 60_000 };

/** Removes orphans: what no worker will adopt, and what could not be removed when its action ended. */
export class OrphanSweep {
  readonly #options: OrphanSweepOptions;
  readonly #first = Promise.withResolvers<void>();
  readonly #left = new Set<EndedAction["remove"]>();
  #waiting = new AbortController();

  constructor(options: OrphanSweepOptions) {
    this.#options = options;
  }

  /** Resolves after the first successful sweep, or when the worker stops. */
  get done(): Promise<void> {
    return this.#first.promise;
  }

  /** Retries a failed removal in some seconds. */
  add(remove: EndedAction["remove"]): void {
    this.#left.add(remove);
    const [oldest] = this.#left;
    if (this.#left.size > MOST_LEFT && oldest) this.#left.delete(oldest);
    this.again();
  }

  /** Sweeps again in some seconds. */
  again(): void {
    this.#waiting.abort();
  }

  /**
   * Retries with backoff until a sweep succeeds, because an engine may still be starting; then sweeps rarely. Never rejects.
   */
  async run(stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let failures = 0; !stop.aborted; ) {
      failures = (await this.#sweep(stop, failures === 0)) ? 0 : failures + 1;
      if (failures === 0) this.#first.resolve();
      const pauseMs = failures === 0 ? SWEEP_INTERVAL_MS : backoffMs(SWEEP_BACKOFF, failures);
      const waiting = AbortSignal.any([stop, this.#waiting.signal]);
      await clock
        .sleep(pauseMs, waiting)
        .catch(() => clock.sleep(SOON_MS, stop))
        .catch(() => undefined);
      this.#waiting = new AbortController();
    }
    this.#first.resolve();
  }

  async #sweep(stop: AbortSignal, isFirst: boolean): Promise<boolean> {
    const { log, runtime, isNeeded } = this.#options;
    try {
      const removed = await runtime.sweep(isNeeded, stop);
      if (removed > 0) log.info({ removed }, "orphans of earlier workers removed");
      await this.#removeLeft(stop);
      return true;
    } catch (thrown) {
      if (isFirst && !stop.aborted) log.warn({ error: textOf(thrown) }, "orphan sweep failed, retrying");
      return false;
    }
  }

  /** Retries the failed removals. Rejects with the first failure after it has tried all of them. */
  async #removeLeft(stop: AbortSignal): Promise<void> {
    const failures: unknown[] = [];
    for (const remove of this.#left) {
      try {
        await remove(AbortSignal.any([stop, AbortSignal.timeout(REMOVE_TIMEOUT_MS)]));
        this.#left.delete(remove);
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
