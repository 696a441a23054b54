import { type Backoff, backoffMs } from "../../shared/backoff.ts";
import type { Clock } from "../../shared/clock.ts";
import { logOutage } from "../../shared/log-outage.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Notifier } from "../../shared/notifier.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import {
  type ActionId,
  type ActionStatus,
  type Delivery,
  type EndStatus,
  fieldsOf,
} from "../action/action.ts";
import type { Observer } from "../action/observer.ts";
import type { Acknowledgement, StatusSink } from "../source/source.ts";

export interface ReporterOptions {
  readonly sink: StatusSink;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxBackoffMs: number;
  readonly observer: Pick<Observer, "report">;
}

/** How a final report ends. A rejection is not an end: the report is repeated. */
export type FinalDelivery = Exclude<Delivery, "rejected">;

export interface FinalTerms {
  /** From then on the report is dropped. */
  readonly forMs: number;
  /** Called when the server has rejected the report for the first time, with the code's name. Must not reject. */
  readonly onRejected: (code: string) => Promise<void>;
  /** Notified when the server serves the action: a rejected report is then repeated at once. */
  readonly served: Notifier;
}

/**
 * A RUNNING that is not acknowledged in this time is dropped: the server serves the action again if it still exists. The server
 * holds a report about a deleted workflow for a minute, and meanwhile the action holds its machine.
 */
const RUNNING_TIMEOUT_MS = 20_000;
/** A workflow that the server does not find for this long is gone; before, its cache may be stale. */
const GONE_MS = 3_000;
/** So many answers in a row that may be rejections are one. */
const PERHAPS_REJECTED_ATTEMPTS = 8;
/** A rejection lasts until an operator corrects a proxy or the server. When the server serves the action, this wait ends. */
const REJECTED_BACKOFF: Backoff = { firstMs: 30_000, maxMs: 30 * 60_000, jitter: 0.3 };

/** What an answer means in the light of those before it. */
type Verdict = "acknowledged" | "rejected" | "gone" | "later";

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

  /** The start of an action: limited in time, because nothing has been done yet. Rejected by the first rejection. */
  async running(status: ActionStatus, signal: AbortSignal): Promise<Delivery> {
    return this.#within(RUNNING_TIMEOUT_MS, signal, (bound) => this.#deliver(status, undefined, bound));
  }

  /** As `final`, but the end of the time also cancels an attempt in flight. */
  async finalWithin(
    ms: number,
    status: EndStatus,
    terms: Omit<FinalTerms, "forMs">,
    signal: AbortSignal,
  ): Promise<FinalDelivery> {
    const forMs = Number.POSITIVE_INFINITY;
    return this.#within(ms, signal, (bound) => this.final(status, { ...terms, forMs }, bound));
  }

  /**
   * The end of an action: repeated until it is acknowledged, or no server waits for it; for `forMs`, or until the signal aborts. After
   * a rejection it is repeated rarely. Unanswered after the signal.
   */
  async final(status: EndStatus, terms: FinalTerms, signal: AbortSignal): Promise<FinalDelivery> {
    return this.#deliver(status, terms, signal);
  }

  async #deliver(status: ActionStatus, terms: FinalTerms, signal: AbortSignal): Promise<FinalDelivery>;
  /** Without terms, for a start: ends with the first rejection. */
  async #deliver(status: ActionStatus, terms: undefined, signal: AbortSignal): Promise<Delivery>;
  async #deliver(
    status: ActionStatus,
    terms: FinalTerms | undefined,
    signal: AbortSignal,
  ): Promise<Delivery> {
    const { clock, log, maxBackoffMs } = this.#options;
    const backoff: Backoff = { firstMs: 500, maxMs: maxBackoffMs, jitter: 0.3 };
    const fields = { ...fieldsOf(status.action, status.machine), state: status.state };
    const endMs = clock.monotonicMs() + (terms?.forMs ?? Number.POSITIVE_INFINITY);
    const answers = new Answers(clock);
    let retries = 0;
    let rejections = 0;
    let wasRejected = false;
    try {
      for (let attempt = 1; ; attempt += 1) {
        signal.throwIfAborted();
        const askedMs = clock.monotonicMs();
        const answer = await this.#ask(status, signal);
        if (answer.kind === "acknowledged") {
          log.debug({ ...fields, attempt }, "report acknowledged");
          return "acknowledged";
        }
        const facts = { ...fields, attempt, code: answer.code, reason: answer.reason };
        const verdict = answers.judge(answer, askedMs);
        if (verdict === "gone") {
          log.warn(facts, "workflow not found, report dropped");
          return "dropped";
        }
        if (clock.monotonicMs() > endMs) {
          log.error(facts, "report abandoned");
          return "dropped";
        }
        if (verdict === "rejected") {
          if (!wasRejected) log.error(facts, "report rejected");
          else log.debug(facts, "report rejected again");
          if (!terms) return "rejected";
          if (!wasRejected) await terms.onRejected(answer.code);
          wasRejected = true;
          retries = 0;
          rejections += 1;
          await terms.served.wait(backoffMs(REJECTED_BACKOFF, rejections), clock, signal);
          continue;
        }
        rejections = 0;
        retries += 1;
        const isOutage = answer.kind === "retry" && answer.outage === true;
        // The sink itself waits for the end of an outage, which may be the end of any wait.
        const waitMs = isOutage ? AFTER_OUTAGE_MS : backoffMs(backoff, retries);
        // An outage is logged elsewhere.
        logOutage(log, attempt === 1 && !isOutage, { ...facts, waitMs }, "report failed, retrying");
        await clock.sleep(waitMs, signal);
      }
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
      return "unanswered";
    }
  }

  async #ask(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    const { sink, clock, observer } = this.#options;
    const askedMs = clock.monotonicMs();
    const answer = await sink.report(status, signal);
    observer.report({
      action: status.action,
      state: status.state,
      code: answer.kind === "acknowledged" ? "OK" : answer.code,
      durationMs: clock.monotonicMs() - askedMs,
    });
    return answer;
  }

  async #within<T>(
    ms: number,
    signal: AbortSignal,
    work: (bound: AbortSignal) => Promise<T>,
  ): Promise<T | "unanswered"> {
    try {
      return await withTimeout(ms, signal, work, this.#options.clock);
    } catch (thrown) {
      if (signal.aborted || thrown instanceof TimeoutReached) return "unanswered";
      throw thrown;
    }
  }
}

/** The answers to one report, as far as they count in a row. */
class Answers {
  readonly #clock: Clock;
  #goneSinceMs: number | undefined;
  #perhapsRejected = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  judge(answer: Acknowledgement, askedMs: number): Verdict {
    if (answer.kind !== "gone") this.#goneSinceMs = undefined;
    const mayBeRejected = answer.kind === "retry" && answer.perhapsRejected === true;
    this.#perhapsRejected = mayBeRejected ? this.#perhapsRejected + 1 : 0;
    switch (answer.kind) {
      case "acknowledged":
      case "rejected":
        return answer.kind;
      case "gone":
        this.#goneSinceMs ??= askedMs;
        if (!answer.perhapsStale) return "gone";
        return this.#clock.monotonicMs() - this.#goneSinceMs >= GONE_MS ? "gone" : "later";
      case "retry":
        return this.#perhapsRejected >= PERHAPS_REJECTED_ATTEMPTS ? "rejected" : "later";
      default:
        return answer satisfies never;
    }
  }
}
