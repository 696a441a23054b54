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
  /** Between two attempts of a report. */
  readonly maxBackoffMs: number;
  readonly observer: Observers;
}

/** The end of an action that is to be reported. */
export interface ReportedEnd {
  readonly status: EndStatus;
  readonly sink: StatusSink;
  /** Once it aborts, the report has a few seconds left. */
  readonly cancel: AbortSignal;
  /** Called when the server rejects it for the first time, with the code's name. Must not reject. */
  readonly onRejected: (code: string) => Promise<void>;
  /** Called once. Must not reject. */
  readonly onFinished: (delivery: FinalDelivery) => Promise<void>;
}

/**
 * A RUNNING that is not acknowledged in this time is dropped: the server serves the action again if it still exists. The server
 * holds a report about a deleted workflow for a minute, and meanwhile the action holds its machine.
 */
const RUNNING_TIMEOUT_MS = 20_000;
/** How long an action keeps its lane, its turn and its slot for its final report. */
const LANE_WAIT_MS = 5_000;
/** At most so many reports are pending in the background; further ones keep their lanes. */
const MOST_PENDING = 5_000;
/** A report is abandoned so long after the end of its action. */
const ABANDON_MS = 7 * 24 * 60 * 60_000;
/** But not earlier, because the wall clock may have been set since. */
const LEAST_MS = 60 * 60_000;
/** For a report when the worker is told to stop immediately. */
const LAST_ATTEMPT_MS = 10_000;
/** For reports when another worker leads next: it leads at once, and makes those that are left. */
const HANDOVER_MS = 1_500;
const NEVER = new AbortController().signal;

/**
 * The reports of all actions: how many, for how long and in which order. A final one delays its lane until it is rejected, for a few
 * seconds at most, and is then repeated in the background.
 */
export class ReportQueue {
  readonly #options: ReportQueueOptions;
  readonly #pending = new Set<PendingReport>();
  /** By workflow ID. */
  readonly #ofWorkflow = new Map<string, Set<PendingReport>>();
  /** Aborts when all reports are left to the next worker. */
  readonly #left = new AbortController();
  readonly #idle = new AbortController();

  constructor(options: ReportQueueOptions) {
    this.#options = options;
  }

  /** Reports the start of an action: limited in time, because nothing has been done yet. The first rejection ends it. */
  async running(status: RunningStatus, sink: StatusSink, stop: AbortSignal): Promise<Delivery> {
    const options = { ...this.#options, sink };
    return within(RUNNING_TIMEOUT_MS, options, stop, (bound) => sendReport(options, status, bound));
  }

  /** For how long the end of an action may still be reported. */
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

  /** Ends the reports of a workflow whose next action the server serves: it does so only once it has the end. */
  async supersede(workflowId: string): Promise<void> {
    const earlier = [...(this.#ofWorkflow.get(workflowId) ?? [])];
    for (const report of earlier) report.supersede();
    await Promise.all(earlier.map(({ done }) => done));
  }

  /** Leaves what is not acknowledged soon to the next worker, which finds the ends of the actions. */
  handOver(): void {
    const leave = () => this.#left.abort();
    void this.#options.clock.sleep(HANDOVER_MS, this.#idle.signal).then(leave, () => undefined);
  }

  /** Resolves when every report is finished. Those that the server rejected are left to the next worker. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) {
      await Promise.all([...this.#pending].map((report) => report.postponeOnceRejected()));
    }
    this.#idle.abort();
  }
}

/** The report of one action's end, until it is finished. Meanwhile its action is not run again. */
export class PendingReport {
  readonly #end: ReportedEnd;
  readonly #options: SendOptions;
  readonly #forMs: () => number;
  readonly #left: AbortSignal;
  /** Aborts when another action shows that the server has the end. */
  readonly #superseded = new AbortController();
  /** Aborts when the worker stops and the report was rejected. */
  readonly #postponed = new AbortController();
  /** Notified when the server serves the action. */
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

  /** The server serves the action: repeats a rejected report at once, and waits for the end of the report for a while. */
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

  /** Resolves when it is finished; once the server has rejected it, it is left to the next worker. */
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

  /** Resolves to true if it has ended within the time that a lane waits. */
  async #within(ended: Promise<void>): Promise<boolean> {
    const { clock } = this.#options;
    const isEnded = withTimeout(LANE_WAIT_MS, NEVER, () => ended.then(() => true), clock);
    return isEnded.catch(() => false);
  }
}
