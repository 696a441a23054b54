import type { Clock } from "../../shared/clock.ts";
import { logOutage } from "../../shared/log-outage.ts";
import type { Logger } from "../../shared/logger.ts";
import { Notifier } from "../../shared/notifier.ts";
import { textOf } from "../../shared/text-of.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { type ActionId, actionKey, type EndStatus, fieldsOf } from "../action/action.ts";
import { isWorkflowDeleted } from "../action/workflow-deleted.ts";
import type { FinalDelivery, Reporter } from "./report.ts";

export interface FinalReport {
  readonly status: EndStatus;
  /** Once it aborts, the report has a few seconds left. */
  readonly cancel: AbortSignal;
  /** Called when the server rejects it for the first time, with the code's name. Must not reject. */
  readonly onRejected: (code: string) => Promise<void>;
  /** Called once. Must not reject. */
  readonly finish: (delivery: FinalDelivery) => Promise<void>;
}

export interface FinalReportsOptions {
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What ends the wait of a report, or shortens it. */
interface Controls {
  /** Aborts when another action shows that the server has the end. */
  readonly superseded: AbortController;
  /** Aborts when the worker stops and the report was rejected. */
  readonly postponed: AbortController;
  /** Notified when the server serves the action. */
  readonly served: Notifier;
  /** Resolves when the server has rejected it. */
  readonly rejected: PromiseWithResolvers<void>;
}

interface Pending extends Controls {
  readonly workflowId: string;
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
 * The final reports that the server has not acknowledged. Each one delays its lane until it is rejected, for a few seconds at most, and
 * is then repeated in the background. Meanwhile its action is not run again.
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
    const controls = {
      superseded: new AbortController(),
      postponed: new AbortController(),
      served: new Notifier(),
      rejected: Promise.withResolvers<void>(),
    };
    const done = this.#run(report, controls).finally(() => this.#pending.delete(key));
    this.#pending.set(key, { workflowId: action.workflowId, ...controls, done });
    const isLaneFree = Promise.race([done, controls.rejected.promise]);
    if (this.#pending.size > MOST_PENDING) await isLaneFree;
    else if (!(await this.#isDone(isLaneFree))) {
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
      own.served.notify();
      await this.#isDone(own.done);
      return false;
    }
    if (!isNew) return true;
    const earlier = [...this.#pending.values()].filter(({ workflowId }) => workflowId === action.workflowId);
    for (const { superseded } of earlier) superseded.abort();
    await Promise.all(earlier.map(({ done }) => done));
    return true;
  }

  /** Resolves when every report is finished. Those that the server rejected are left to the next worker. */
  async idle(): Promise<void> {
    const ended = ({ done, postponed, rejected }: Pending) => {
      const postpone = () => postponed.abort();
      void rejected.promise.then(postpone, postpone);
      return done;
    };
    while (this.#pending.size > 0) await Promise.all([...this.#pending.values()].map(ended));
  }

  async #run(report: FinalReport, controls: Controls): Promise<void> {
    const { action, machine, state } = report.status;
    const delivery = await this.#deliver(report, controls).catch((thrown: unknown): FinalDelivery => {
      const fields = { ...fieldsOf(action, machine), state, error: textOf(thrown) };
      this.#options.log.error(fields, "report failed, retrying after restart");
      return "unanswered";
    });
    await report.finish(delivery);
  }

  async #deliver({ status, cancel, ...report }: FinalReport, controls: Controls): Promise<FinalDelivery> {
    const { log, reporter } = this.#options;
    const { superseded, postponed, served, rejected } = controls;
    const fields = { ...fieldsOf(status.action, status.machine), state: status.state };
    const either = AbortSignal.any([cancel, superseded.signal, postponed.signal]);
    const onRejected = async (code: string) => {
      await report.onRejected(code);
      rejected.resolve();
    };
    const forMs = this.remainingMs(status.stoppedAt);
    let delivery = await reporter.final(status, { forMs, onRejected, served }, either);
    if (delivery !== "unanswered") return delivery;
    if (superseded.signal.aborted) {
      log.info(fields, "report superseded by another action of the workflow");
      return "acknowledged";
    }
    if (isWorkflowDeleted(cancel)) {
      log.warn(fields, "workflow deleted, report dropped");
      return "dropped";
    }
    if (!postponed.signal.aborted) {
      delivery = await reporter.finalWithin(LAST_ATTEMPT_MS, status, { onRejected, served }, NEVER);
    }
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
