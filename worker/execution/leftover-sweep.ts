import { type Backoff, backoffMs } from "../../shared/backoff.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Need } from "../runtime/orphan.ts";
import type { Runtime } from "../runtime/runtime.ts";

export interface LeftoverSweepOptions {
  readonly runtime: Runtime;
  /** Whether what was launched for an action, by key, runs now or tells how it ended. */
  readonly isNeeded: (key: string) => Need;
  readonly clock: Clock;
  readonly log: Logger;
}

const SWEEP_INTERVAL_MS = 60 * 60_000;
const SWEEP_BACKOFF: Backoff = { firstMs: 1_000, maxMs: 60_000 };

/** Removes what no worker will come back for, while this worker stands. */
export class LeftoverSweep {
  readonly #options: LeftoverSweepOptions;
  readonly #first = Promise.withResolvers<void>();

  constructor(options: LeftoverSweepOptions) {
    this.#options = options;
  }

  /** Resolves when it was looked for leftovers once, and they are gone; or when the worker stopped. */
  get done(): Promise<void> {
    return this.#first.promise;
  }

  /** Again and again until the first time that it can look, which an engine that is starting may delay; then rarely. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let failures = 0; !stop.aborted; ) {
      failures = (await this.#sweep(stop, failures === 0)) ? 0 : failures + 1;
      if (failures === 0) this.#first.resolve();
      const pauseMs = failures === 0 ? SWEEP_INTERVAL_MS : backoffMs(SWEEP_BACKOFF, failures);
      await clock.sleep(pauseMs, stop).catch(() => undefined);
    }
    this.#first.resolve();
  }

  /** Resolves to whether it could look. */
  async #sweep(stop: AbortSignal, sayWhy: boolean): Promise<boolean> {
    const { log, runtime, isNeeded } = this.#options;
    try {
      const removed = await runtime.sweep(isNeeded, stop);
      if (removed > 0) log.info({ removed }, "orphans of earlier workers removed");
      return true;
    } catch (thrown) {
      if (sayWhy && !stop.aborted) {
        log.warn({ error: textOf(thrown) }, "orphan sweep failed, retrying");
      }
      return false;
    }
  }
}
