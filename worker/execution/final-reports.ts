import type { Clock } from "../../shared/clock.ts";
import { logOutage } from "../../shared/log-outage.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { type ActionId, type ActionStatus, actionKey, type Delivery, fieldsOf } from "../action/action.ts";
import { isWorkflowDeleted } from "../action/workflow-deleted.ts";
import type { Reporter } from "./report.ts";

export interface FinalReport {
  readonly status: ActionStatus;
  /** Once it aborts, the report has a few seconds left. */
  readonly cancel: AbortSignal;
  /** Called once. Must not reject. */
  readonly finish: (delivery: Delivery) => Promise<void>;
}

export interface FinalReportsOptions {
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Pending {
  readonly workflowId: string;
  /** Aborts when another action shows that the server has the end. */
  readonly superseded: AbortController;
  /** Never rejects. */
  readonly done: Promise<void>;
}

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
const NEVER = new AbortController().signal;

/**
 * The final reports that the server has not acknowledged. Each one delays its lane for a few seconds at most and is then
 * retried in the background. Meanwhile its action is not run again.
 */
export class FinalReports {
  readonly #options: FinalReportsOptions;
  readonly #pending = new Map<string, Pending>();

  constructor(options: FinalReportsOptions) {
    this.#options = options;
  }

  /** For how long the end of an action may still be reported. */
  remainingMs(stoppedAt: Date): number {
    return Math.max(LEAST_MS, stoppedAt.getTime() + ABANDON_MS - this.#options.clock.now());
  }

  has(key: string): boolean {
    return this.#pending.has(key);
  }

  /** Resolves when the report is finished, or continues in the background. Never rejects. */
  async deliver(report: FinalReport): Promise<void> {
    const { log, reporter } = this.#options;
    const { action, machine, state } = report.status;
    const key = actionKey(action);
    const superseded = new AbortController();
    const done = this.#run(report, superseded.signal).finally(() => this.#pending.delete(key));
    this.#pending.set(key, { workflowId: action.workflowId, superseded, done });
    if (this.#pending.size > MOST_PENDING) await done;
    else if (!(await this.#isDone(done))) {
      const fields = { ...fieldsOf(action, machine), state };
      logOutage(log, !reporter.isUnavailable(action), fields, "report pending, lane continues");
    }
  }

  /**
   * Whether pending reports allow an action to begin. The action of a pending report may not, and waits for it. Another action
   * of the workflow supersedes the report: the server serves it only once it has the end.
   */
  async mayBegin(action: ActionId, isNew: boolean): Promise<boolean> {
    const own = this.#pending.get(actionKey(action));
    if (own) {
      await this.#isDone(own.done);
      return false;
    }
    if (!isNew) return true;
    const earlier = [...this.#pending.values()].filter(({ workflowId }) => workflowId === action.workflowId);
    for (const { superseded } of earlier) superseded.abort();
    await Promise.all(earlier.map(({ done }) => done));
    return true;
  }

  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all([...this.#pending.values()].map(({ done }) => done));
  }

  async #run(report: FinalReport, superseded: AbortSignal): Promise<void> {
    const { action, machine, state } = report.status;
    const delivery = await this.#deliver(report, superseded).catch((thrown: unknown): Delivery => {
      const fields = { ...fieldsOf(action, machine), state, error: textOf(thrown) };
      this.#options.log.error(fields, "report failed, retrying after restart");
      return "unanswered";
    });
    await report.finish(delivery);
  }

  async #deliver({ status, cancel }: FinalReport, superseded: AbortSignal): Promise<Delivery> {
    const { clock, log, reporter } = this.#options;
    const fields = { ...fieldsOf(status.action, status.machine), state: status.state };
    const either = AbortSignal.any([cancel, superseded]);
    const forMs = this.remainingMs(status.stoppedAt ?? new Date(clock.now()));
    let delivery = await reporter.final(status, forMs, either);
    if (delivery !== "unanswered") return delivery;
    if (superseded.aborted) {
      log.info(fields, "report superseded by another action of the workflow");
      return "acknowledged";
    }
    if (isWorkflowDeleted(cancel)) {
      log.warn(fields, "workflow deleted, report dropped");
      return "rejected";
    }
    // It was withheld.
    if (!cancel.aborted) return delivery;
    delivery = await reporter.within(LAST_ATTEMPT_MS, status, NEVER);
    if (delivery === "unanswered") log.warn(fields, "report postponed: worker is stopping");
    return delivery;
  }

  /** Waits for a report, but no longer than a lane waits. Resolves to true if it is finished. */
  async #isDone(done: Promise<void>): Promise<boolean> {
    const { clock } = this.#options;
    const isDone = withTimeout(LANE_WAIT_MS, NEVER, () => done.then(() => true), clock);
    return isDone.catch(() => false);
  }
}
