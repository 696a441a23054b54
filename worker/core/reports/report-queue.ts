import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { Notifier } from "../../../shared/notifier.ts";
import { textOf } from "../../../shared/text-of.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import {
  type Delivery,
  type EndStatus,
  fieldsOf,
  isWorkflowDeleted,
  type RunningStatus,
} from "../action/action.ts";
import type { Observers } from "../action/observer.ts";
import type { StatusSink } from "../ports/source.ts";
import { type FinalDelivery, type SendOptions, sendReport, within } from "./send-report.ts";

export interface ReportQueueOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest pause between two attempts of a report. */
  readonly maxBackoffMs: number;
  readonly observer: Observers;
}

/** The report of an action's end. */
export interface ReportedEnd {
  readonly status: EndStatus;
  readonly sink: StatusSink;
  /** When it aborts, the report has a few seconds left. */
  readonly cancel: AbortSignal;
  /** Called with the code's name when the server rejects the report for the first time. Must not reject. */
  readonly onRejected: (code: string) => Promise<void>;
  /** Called once, when the report is finished. Must not reject. */
  readonly onFinished: (delivery: FinalDelivery) => Promise<void>;
}

/**
 * A RUNNING report that is not acknowledged within this time is dropped; the server serves the action again if it still
 * exists. The server holds a report about a deleted workflow for a minute, and the action would hold its machine meanwhile.
 */
const RUNNING_TIMEOUT_MS = 20_000;
/** How long an action keeps its lane, locks and slot for its final report. */
const LANE_WAIT_MS = 5_000;
/** The maximum number of reports in the background. Further reports keep their lanes. */
const MOST_PENDING = 5_000;
/** A report is abandoned this long after its action ended. */
const ABANDON_MS = 7 * 24 * 60 * 60_000;
/** The least time until a report is abandoned, because the wall clock may have been set. */
const LEAST_MS = 60 * 60_000;
/** Time for a report when the worker must stop immediately. */
const LAST_ATTEMPT_MS = 10_000;
/** Time for reports when another worker takes over the lead: it leads at once and sends the remaining reports. */
const HANDOVER_MS = 1_000;
const NEVER = new AbortController().signal;

/**
 * Sends the reports of all actions and limits their number and duration. A final report delays its lane until it is
 * rejected, for a few seconds at most, and is then repeated in the background.
 */
export class ReportQueue {
  readonly #options: ReportQueueOptions;
  readonly #pending = new Set<PendingReport>();
  /** Pending reports by workflow ID. */
  readonly #ofWorkflow = new Map<string, Set<PendingReport>>();
  /** Aborts when all reports are left to the next worker. */
  readonly #left = new AbortController();
  readonly #idle = new AbortController();

  constructor(options: ReportQueueOptions) {
    this.#options = options;
  }

  /** Reports the start of an action. The time is limited, because nothing has been done yet. The first rejection ends it. */
  async running(
    status: RunningStatus,
    sink: StatusSink,
    stop: AbortSignal,
    withinMs = RUNNING_TIMEOUT_MS,
  ): Promise<Delivery> {
    const options = { ...this.#options, sink };
    return within(withinMs, options, stop, (bound) => sendReport(options, status, bound));
  }

  /** How much longer the end of an action may be reported. */
  remainingMs(stoppedAt: Date): number {
    return Math.max(LEAST_MS, stoppedAt.getTime() + ABANDON_MS - this.#options.clock.now());
  }

  /** Begins to report an end. */
  deliver(end: ReportedEnd): PendingReport {
    const options = { ...this.#options, sink: end.sink };
    const forMs = () => this.remainingMs(end.status.stoppedAt);
    const report = new PendingReport(end, options, forMs, this.#left.signal);
    const { workflowId } = end.status.action;
    const siblings = this.#ofWorkflow.get(workflowId) ?? new Set();
    this.#ofWorkflow.set(workflowId, siblings.add(report));
    this.#pending.add(report);
    report.start(() => {
      this.#pending.delete(report);
      siblings.delete(report);
      if (siblings.size === 0 && this.#ofWorkflow.get(workflowId) === siblings) {
        this.#ofWorkflow.delete(workflowId);
      }
    });
    return report;
  }

  /** Resolves when the lane of a report may continue: the report has ended, or continues in the background. */
  async laneFree(report: PendingReport): Promise<void> {
    if (this.#pending.size > MOST_PENDING) await report.endedOrRejected;
    else await report.endedSoon(report.endedOrRejected);
  }

  /**
   * Ends the reports of a workflow when the server serves its next action: the server does so only after it has received the
   * end.
   */
  async supersede(workflowId: string): Promise<void> {
    const earlier = [...(this.#ofWorkflow.get(workflowId) ?? [])];
    for (const report of earlier) report.supersede();
    await Promise.all(earlier.map(({ done }) => done));
  }

  /** Leaves reports that are not acknowledged soon to the next worker, which finds the ends in the journal. */
  handOver(): void {
    const leave = () => this.#left.abort();
    void this.#options.clock.sleep(HANDOVER_MS, this.#idle.signal).then(leave, () => undefined);
  }

  /** Resolves when every report is finished. Rejected reports are left to the next worker. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) {
      await Promise.all([...this.#pending].map((report) => report.postponeOnceRejected()));
    }
    this.#idle.abort();
  }
}

/** The report of one action's end until it is finished. The action does not run again meanwhile. */
export class PendingReport {
  readonly #end: ReportedEnd;
  readonly #options: SendOptions;
  readonly #forMs: () => number;
  readonly #left: AbortSignal;
  /** Aborts when another action shows that the server has received the end. */
  readonly #superseded = new AbortController();
  /** Aborts when the worker stops after the report was rejected. */
  readonly #postponed = new AbortController();
  /** Notified when the server serves the action again. */
  readonly #served = new Notifier();
  readonly #rejected = Promise.withResolvers<void>();
  #done: Promise<void> = Promise.resolve();

  constructor(end: ReportedEnd, options: SendOptions, forMs: () => number, left: AbortSignal) {
    this.#end = end;
    this.#options = options;
    this.#forMs = forMs;
    this.#left = left;
  }

  /** Never rejects. */
  get done(): Promise<void> {
    return this.#done;
  }

  get endedOrRejected(): Promise<void> {
    return Promise.race([this.#done, this.#rejected.promise]);
  }

  start(onDone: () => void): void {
    const { log } = this.#options;
    this.#done = this.#send()
      .catch((thrown: unknown): FinalDelivery => {
        log.error({ ...this.#fields, error: textOf(thrown) }, "report failed, retrying after restart");
        return "unanswered";
      })
      .then(this.#end.onFinished)
      .finally(onDone);
  }

  supersede(): void {
    this.#superseded.abort();
  }

  /**
   * Handles that the server serves the action again: repeats a rejected report at once and waits a while for the end of the
   * report.
   */
  async servedAgain(): Promise<void> {
    this.#served.notify();
    await this.#within(this.#done);
  }

  /** Waits for `ended`, but no longer than a lane waits. */
  async endedSoon(ended: Promise<void>): Promise<void> {
    if (await this.#within(ended)) return;
    const { log, sink } = this.#options;
    const isFirst = !sink.isUnavailable?.(this.#end.status.action);
    logOutage(log, isFirst, this.#fields, "report pending, lane continues");
  }

  /** Resolves when the report is finished. A rejected report is left to the next worker. */
  postponeOnceRejected(): Promise<void> {
    const postpone = () => this.#postponed.abort();
    void this.#rejected.promise.then(postpone, postpone);
    return this.#done;
  }

  get #fields() {
    const { action, machine, state } = this.#end.status;
    return { ...fieldsOf(action, machine), state };
  }

  async #send(): Promise<FinalDelivery> {
    const { status, cancel, onRejected } = this.#end;
    const options = this.#options;
    const { log } = options;
    const superseded = this.#superseded.signal;
    const postponed = AbortSignal.any([this.#postponed.signal, this.#left]);
    const terms = {
      forMs: this.#forMs(),
      served: this.#served,
      onRejected: async (code: string) => {
        await onRejected(code);
        this.#rejected.resolve();
      },
    };
    const any = AbortSignal.any([cancel, superseded, postponed]);
    let delivery = await sendReport(options, status, any, terms);
    if (delivery !== "unanswered") return delivery;
    if (superseded.aborted) {
      log.info(this.#fields, "report superseded by another action of the workflow");
      return "acknowledged";
    }
    if (isWorkflowDeleted(cancel)) {
      log.warn(this.#fields, "workflow deleted, report dropped");
      return "dropped";
    }
    if (!postponed.aborted) {
      const last = { ...terms, forMs: Number.POSITIVE_INFINITY };
      delivery = await within(LAST_ATTEMPT_MS, options, NEVER, (bound) =>
        sendReport(options, status, bound, last),
      );
    }
    if (delivery === "unanswered") log.warn(this.#fields, "report postponed: worker is stopping");
    return delivery;
  }

  /** Resolves to true if `ended` settles within the time that a lane waits. */
  async #within(ended: Promise<void>): Promise<boolean> {
    const { clock } = this.#options;
    const isEnded = withTimeout(LANE_WAIT_MS, NEVER, () => ended.then(() => true), clock);
    return isEnded.catch(() => false);
  }
}
