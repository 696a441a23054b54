import { type Backoff, backoffMs } from "../../shared/backoff.ts";
import type { Clock } from "../../shared/clock.ts";
import { logOutage } from "../../shared/log-outage.ts";
import type { Logger } from "../../shared/logger.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import { type ActionId, type ActionStatus, type Delivery, fieldsOf } from "../action/action.ts";
import type { Observer } from "../action/observer.ts";
import type { StatusSink } from "../source/source.ts";

export interface ReporterOptions {
  readonly sink: StatusSink;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxBackoffMs: number;
  readonly observer: Pick<Observer, "report">;
}

/**
 * A RUNNING that is not acknowledged in this time is dropped: the server serves the action again if it still exists. The server
 * holds a report about a deleted workflow for a minute, and meanwhile the action holds its machine.
 */
const RUNNING_TIMEOUT_MS = 20_000;
/** A workflow that the server does not find for this long is gone; before, its cache may be stale. */
const MISSING_MS = 3_000;
/** The most attempts against an answer that may mean that the workflow is gone. */
const PERHAPS_GONE_ATTEMPTS = 8;

/** An outage may end and begin again at once. */
const AFTER_OUTAGE_MS = 500;

/** Reports the states of actions until the server acknowledges them. */
export class Reporter {
  readonly #options: ReporterOptions;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  isUnavailable(action: ActionId): boolean {
    return this.#options.sink.isUnavailable?.(action) ?? false;
  }

  /** The start of an action: limited in time, because nothing has been done yet. */
  async running(status: ActionStatus, signal: AbortSignal): Promise<Delivery> {
    return this.within(RUNNING_TIMEOUT_MS, status, signal);
  }

  /** As `final`, but the end of the time also cancels an attempt in flight. */
  async within(ms: number, status: ActionStatus, signal: AbortSignal): Promise<Delivery> {
    try {
      const attempts = (bound: AbortSignal) => this.final(status, Number.POSITIVE_INFINITY, bound);
      return await withTimeout(ms, signal, attempts, this.#options.clock);
    } catch (thrown) {
      if (signal.aborted || thrown instanceof TimeoutReached) return "unanswered";
      throw thrown;
    }
  }

  /**
   * The end of an action: retried until it is acknowledged, rejected or withheld, for `forMs`, or until the signal aborts. Unanswered
   * after the signal, and if it was withheld.
   */
  async final(status: ActionStatus, forMs: number, signal: AbortSignal): Promise<Delivery> {
    const { sink, clock, log, maxBackoffMs, observer } = this.#options;
    const backoff: Backoff = { firstMs: 500, maxMs: maxBackoffMs, jitter: 0.3 };
    const fields = { ...fieldsOf(status.action, status.machine), state: status.state };
    const endMs = clock.monotonicMs() + forMs;
    let missingSinceMs: number | undefined;
    let perhapsGoneAnswers = 0;
    for (let attempt = 1; ; attempt += 1) {
      try {
        signal.throwIfAborted();
        const askedMs = clock.monotonicMs();
        const answer = await sink.report(status, signal);
        observer.report({
          action: status.action,
          state: status.state,
          code: answer.kind === "acknowledged" ? "OK" : answer.code,
          durationMs: clock.monotonicMs() - askedMs,
        });
        if (answer.kind === "acknowledged") {
          log.debug({ ...fields, attempt }, "report acknowledged");
          return "acknowledged";
        }
        const facts = { ...fields, attempt, code: answer.code, reason: answer.reason };
        if (answer.kind === "withheld") {
          log.warn(facts, "report withheld");
          return "unanswered";
        }
        if (answer.kind === "retry" && answer.perhapsGone) perhapsGoneAnswers += 1;
        if (answer.kind === "rejected" || perhapsGoneAnswers >= PERHAPS_GONE_ATTEMPTS) {
          log.error(facts, "report rejected");
          return "rejected";
        }
        missingSinceMs = answer.missing ? (missingSinceMs ?? askedMs) : undefined;
        if (missingSinceMs !== undefined && clock.monotonicMs() - missingSinceMs >= MISSING_MS) {
          log.warn(facts, "workflow not found, report dropped");
          return "rejected";
        }
        if (clock.monotonicMs() > endMs) {
          log.error(facts, "report abandoned");
          return "rejected";
        }
        // The sink itself waits for the end of an outage, which may be the end of any wait.
        const waitMs = answer.outage ? AFTER_OUTAGE_MS : backoffMs(backoff, attempt);
        // An outage is logged elsewhere.
        logOutage(log, attempt === 1 && !answer.outage, { ...facts, waitMs }, "report failed, retrying");
        await clock.sleep(waitMs, signal);
      } catch (thrown) {
        if (!signal.aborted) throw thrown;
        return "unanswered";
      }
    }
  }
}
