import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import type { Outcome } from "../action/action.ts";

export interface LaunchGateOptions {
  /** Checks that an action can be recorded and launched. Rejects with one line. */
  readonly checkLaunch: (signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Logger;
}

const CHECK_MS = 30_000;
const RETRY: Backoff = { firstMs: 1_000, maxMs: 15_000, jitter: 0.2 };
/** Classes of actions that were refused or stopped before anything was launched. */
const NOT_BY_RUNTIME: ReadonlySet<ErrorClass | undefined> = new Set(["cancelled", "state", "usage"]);

/**
 * Keeps the lanes from polling while no action can be launched, because the runtime is unavailable or the state directory
 * cannot be written: every action that the server serves would then fail.
 */
export class LaunchGate {
  readonly #options: LaunchGateOptions;
  #closed: Promise<void> | undefined;

  constructor(options: LaunchGateOptions) {
    this.#options = options;
  }

  /** Undefined if the lanes may poll; otherwise resolves when actions can be launched, or when the worker stops. */
  opened(): Promise<void> | undefined {
    return this.#closed;
  }

  /** Checks the runtime before the first poll. */
  begin(stop: AbortSignal): void {
    this.#close(stop);
  }

  /** Checks the runtime if an action may have failed to launch because of it. `outcome` is undefined if it was not run. */
  see(outcome: Outcome | undefined, stop: AbortSignal): void {
    if (!outcome) this.#close(stop);
    else if (!outcome.ok && outcome.exitCode === undefined && !NOT_BY_RUNTIME.has(outcome.class))
      this.#close(stop);
  }

  #close(stop: AbortSignal): void {
    this.#closed ??= this.#untilUsable(stop).finally(() => {
      this.#closed = undefined;
    });
  }

  async #untilUsable(stop: AbortSignal): Promise<void> {
    const { checkLaunch, clock, log } = this.#options;
    for (let attempt = 1; !stop.aborted; attempt += 1) {
      try {
        await withTimeout(CHECK_MS, stop, (bound) => checkLaunch(bound), clock);
        if (attempt > 1) log.info({}, "runtime can launch actions again, polling");
        return;
      } catch (thrown) {
        if (stop.aborted) return;
        if (attempt === 1)
          log.error({ error: textOf(thrown) }, "runtime cannot launch actions, polling stopped");
        await clock.sleep(backoffMs(RETRY, attempt), stop).catch(() => undefined);
      }
    }
  }
}
