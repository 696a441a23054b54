import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Notifier } from "../../../shared/notifier.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { type ActionStatus, type Delivery, fieldsOf } from "../action/action.ts";
import type { ReportSeen } from "../action/observer.ts";
import type { Acknowledgement, StatusSink } from "../ports/source.ts";

export interface SendOptions {
  readonly sink: StatusSink;
  /** The longest pause between two attempts. */
  readonly maxBackoffMs: number;
  readonly observer: ReportObserver;
  readonly clock: Clock;
  readonly log: Logger;
}

interface ReportObserver {
  report(report: ReportSeen): void;
}

/** How a final report ends. A rejection is not an end: the report is repeated. */
export type FinalDelivery = Exclude<Delivery, "rejected">;

export interface FinalTerms {
  /** The report is dropped after this time. */
  readonly forMs: number;
  /** Called with the code's name when the server has rejected the report for the first time. Must not reject. */
  readonly onRejected: (code: string) => Promise<void>;
  /** Notified when the server serves the action: a rejected report is then repeated at once. */
  readonly served: Notifier;
}

/** A workflow that the server does not find for this long is gone. Before that, its cache may be stale. */
const GONE_MS = 3_000;
/** This many answers in a row that may be rejections count as a rejection. */
const PERHAPS_REJECTED_ATTEMPTS = 8;
/**
 * A rejection lasts until an operator corrects a proxy or the server. The wait ends early when the server serves the action
 * again.
 */
const REJECTED_BACKOFF: Backoff = { firstMs: 30_000, maxMs: 30 * 60_000, jitter: 0.3 };
/** Pause after an outage, because outages may follow one another. */
const AFTER_OUTAGE_MS = 500;

/** The meaning of an answer, considering the earlier ones. */
type Verdict = "acknowledged" | "rejected" | "gone" | "later";

/**
 * Reports the end of an action. Repeats the report until it is acknowledged or no server waits for it; for at most `forMs`,
 * or until the signal aborts. Repeats a rejected report rarely. Resolves to `unanswered` after the signal.
 */
export async function sendReport(
  options: SendOptions,
  status: ActionStatus,
  signal: AbortSignal,
  terms: FinalTerms,
): Promise<FinalDelivery>;
/** Reports the start of an action. The first rejection ends it. */
export async function sendReport(
  options: SendOptions,
  status: ActionStatus,
  signal: AbortSignal,
): Promise<Delivery>;
export async function sendReport(
  options: SendOptions,
  status: ActionStatus,
  signal: AbortSignal,
  terms?: FinalTerms,
): Promise<Delivery> {
  const { clock, log, maxBackoffMs } = options;
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
      const answer = await ask(options, status, signal);
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
      // The sink itself waits for the end of an outage, and an outage may end any wait.
      const waitMs = isOutage ? AFTER_OUTAGE_MS : backoffMs(backoff, retries);
      // Outages are logged elsewhere.
      logOutage(log, attempt === 1 && !isOutage, { ...facts, waitMs }, "report failed, retrying");
      await clock.sleep(waitMs, signal);
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    return "unanswered";
  }
}

async function ask(
  { sink, clock, observer }: SendOptions,
  status: ActionStatus,
  signal: AbortSignal,
): Promise<Acknowledgement> {
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

/** Resolves to `unanswered` if the call takes longer than the limit. */
export async function within<T>(
  ms: number,
  { clock }: { readonly clock: Clock },
  signal: AbortSignal,
  send: (bound: AbortSignal) => Promise<T>,
): Promise<T | "unanswered"> {
  try {
    return await withTimeout(ms, signal, send, clock);
  } catch (thrown) {
    if (signal.aborted || thrown instanceof TimeoutReached) return "unanswered";
    throw thrown;
  }
}

/** Counts the consecutive answers to one report. */
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
