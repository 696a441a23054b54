import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Poll } from "../ports/source.ts";
import type { LaneOptions } from "./lane-options.ts";

/** Counts the failed polls of one lane in a row and waits between them. */
export class PollFailures {
  readonly #options: LaneOptions;
  readonly #backoff: Backoff;
  #failures = 0;
  #isWarned = false;
  /** Whether the server has not answered this lane since an outage. */
  #isAfterOutage = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#backoff = { firstMs: 500, maxMs: options.maxBackoffMs, jitter: 0.5 };
  }

  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Whether the lane polls only to find out whether the server answers again. */
  get mustPoll(): boolean {
    return this.isFailing || this.#isAfterOutage;
  }

  /** Waits until the lane may poll again. Rejects when `stop` aborts. */
  async wait({ code, reason, outage }: Poll & { readonly kind: "failed" }, stop: AbortSignal): Promise<void> {
    const { agentId, clock, log, maxBackoffMs, observer } = this.#options;
    observer.lane(agentId, "failing");
    if (outage) {
      this.#isAfterOutage = true;
      // The health check expects an event from each lane now and then.
      while (!(await outage.over(maxBackoffMs, stop))) observer.lane(agentId, "failing");
      return;
    }
    this.#failures += 1;
    const waitMs = backoffMs(this.#backoff, this.#failures);
    logOutage(log, !this.#isWarned, { agentId, code, reason, waitMs }, "poll failed, retrying");
    this.#isWarned = true;
    await clock.sleep(waitMs, stop);
  }

  /** Handles an error of the lane itself: logs it and waits. Never rejects. */
  async broken(thrown: unknown, stop: AbortSignal): Promise<void> {
    const { agentId, clock, log } = this.#options;
    this.#failures += 1;
    log.error({ agentId, error: textOf(thrown) }, "lane failed, restarting");
    await clock.sleep(backoffMs(this.#backoff, this.#failures), stop).catch(() => undefined);
  }

  end(): void {
    const { agentId, log } = this.#options;
    if (this.#isWarned) log.info({ agentId, failures: this.#failures }, "polling recovered");
    this.#failures = 0;
    this.#isWarned = false;
    this.#isAfterOutage = false;
  }
}
