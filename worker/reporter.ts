import { type Backoff, backoffMs } from "../shared/backoff.ts";
import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import type { ActionStatus } from "./action.ts";
import { fieldsOf } from "./action-status.ts";
import type { Observer } from "./observer.ts";
import type { StatusSink } from "./transport/transport.ts";

/** Whether a report arrived: `rejected` means that it never will, `unanswered` that the time for it was over. */
export type Delivery = "acknowledged" | "rejected" | "unanswered";

export interface ReporterOptions {
  readonly sink: StatusSink;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxBackoffMs: number;
  readonly observer: Pick<Observer, "report">;
}

/** A RUNNING that did not arrive in this time is given up: asking again tells whether the action still stands. */
const RUNNING_TIMEOUT_MS = 60_000;
/** How often the final report is repeated against an answer that is permanent in fact, if not in form. */
const BOUNDED_ATTEMPTS = 8;

/** Sends the states of actions until they are acknowledged. */
export class Reporter {
  readonly #options: ReporterOptions;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** The start of an action: bounded, because nothing has been done yet. */
  async running(status: ActionStatus, signal: AbortSignal): Promise<Delivery> {
    return this.#deliver(status, RUNNING_TIMEOUT_MS, signal);
  }

  /** The end of an action: repeated until it is acknowledged, refused for good, or the signal aborts. */
  async final(status: ActionStatus, signal: AbortSignal): Promise<Delivery> {
    return this.#deliver(status, Number.POSITIVE_INFINITY, signal);
  }

  async #deliver(status: ActionStatus, withinMs: number, signal: AbortSignal): Promise<Delivery> {
    const { sink, clock, log, maxBackoffMs, observer } = this.#options;
    const backoff: Backoff = { firstMs: 500, maxMs: maxBackoffMs, jitter: 0.3 };
    const fields = { ...fieldsOf(status.action, status.machine), state: status.state };
    const endMs = clock.monotonicMs() + withinMs;
    let boundedAnswers = 0;
    for (let attempt = 1; ; attempt += 1) {
      try {
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
        if (answer.kind === "retry" && answer.bounded) boundedAnswers += 1;
        if (answer.kind === "rejected" || boundedAnswers >= BOUNDED_ATTEMPTS) {
          log.error(facts, "report refused for good, the worker goes on without it");
          return "rejected";
        }
        const waitMs = backoffMs(backoff, attempt);
        if (clock.monotonicMs() + waitMs > endMs) {
          log.warn(facts, "report not taken in time");
          return "unanswered";
        }
        log.warn({ ...facts, waitMs }, "report not taken, will repeat");
        await clock.sleep(waitMs, signal);
      } catch (thrown) {
        if (!signal.aborted) throw thrown;
        log.warn(fields, "report given up: the worker is stopping");
        return "unanswered";
      }
    }
  }
}
