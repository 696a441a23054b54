import { type Action, actionKey, type Outcome } from "../action/action.ts";
import { isSettled, isUnreported, type UnreportedEntry } from "../action/entry.ts";
import type { Need } from "../ports/runtime.ts";
import { ReportQueue } from "../reports/report-queue.ts";
import { ActionRun } from "./action-run.ts";
import { adopt } from "./adopt.ts";
import { OrphanSweep } from "./orphan-sweep.ts";
import { PauseWatch } from "./pause-watch.ts";
import {
  EarlierRuns,
  type ExecutorNeeds,
  LaunchThrottle,
  type RunServices,
  type StopSignals,
} from "./services.ts";
import { start } from "./start.ts";

/** Runs the actions of a worker: those that the server serves (`start`), and those of an earlier worker (`adopt`). */
export class Executor {
  readonly #services: RunServices;
  /** Runs by action key. The server may serve an action again that has not ended, or whose end it does not know. */
  readonly #runs = new Map<string, ActionRun>();

  constructor(needs: ExecutorNeeds) {
    this.#services = {
      ...needs,
      reports: new ReportQueue(needs),
      sweep: new OrphanSweep({ ...needs, isNeeded: (key) => this.#need(key) }),
      throttle: new LaunchThrottle(),
      earlierRuns: new EarlierRuns(needs.clock),
      pauses: new PauseWatch(needs.clock),
    };
  }

  /** Whether an action waits for a paused machine. */
  get isWaitingForPause(): boolean {
    return this.#services.pauses.isWaiting;
  }

  /** Resolves to the outcome, or to undefined if the action was not run; the server then serves it again. */
  execute(action: Action, signals: StopSignals): Promise<Outcome | undefined> {
    const present = this.#runs.get(actionKey(action));
    if (present?.work) return present.work;
    const report = present?.report;
    if (report)
      return this.#track(
        present,
        report.servedAgain().then(() => undefined),
      );
    const run = new ActionRun(this.#services, action);
    return this.#track(run, start(this.#services, run, action, run.signals(signals)));
  }

  /**
   * Adopts the actions of an earlier worker, and removes orphans now and then. If it is called before the first `execute`,
   * adopted actions get their machines before new ones. Resolves when all are done and the worker stops. Never rejects.
   */
  async recover(signals: StopSignals): Promise<void> {
    const { journal, sweep } = this.#services;
    const adopted = journal.unfinished().map((entry) => {
      const run = ActionRun.left(this.#services, entry);
      const isUnasked = run.source.isShared ?? false;
      if (isUnasked && isUnreported(entry)) return this.#withhold(entry, signals.stop);
      const terms = { isUnasked, damage: journal.damageOf(entry.key) };
      return this.#track(run, adopt(this.#services, run, run.signals(signals), terms));
    });
    await Promise.all([...adopted, sweep.run(signals.stop)]);
  }

  /**
   * Delays the report of an end. An earlier leader may have run the action again and reported its end. This worker reports
   * only when the server serves the action, and forgets the end when a report would be abandoned. Never rejects.
   */
  async #withhold(entry: UnreportedEntry, stop: AbortSignal): Promise<void> {
    const { clock, journal, reports } = this.#services;
    try {
      await clock.sleep(reports.remainingMs(new Date(entry.end.stoppedAt)), stop);
      if (journal.find(entry.key) === entry) await journal.remove(entry.key);
    } catch {
      // The next start tries again.
    }
  }

  /** Another worker leads next. Final reports that are not acknowledged soon are left to it. */
  handOver(): void {
    this.#services.reports.handOver();
  }

  /** Resolves when every final report is settled or left to the next worker. */
  async reported(): Promise<void> {
    await this.#services.reports.idle();
  }

  /** Keeps the run until nothing works on it and its report is finished. */
  #track(run: ActionRun, work: Promise<Outcome | undefined>): Promise<Outcome | undefined> {
    const forgetOnceDone = () => {
      if (run.work || this.#runs.get(run.key) !== run) return;
      if (run.report) void run.report.done.then(forgetOnceDone, forgetOnceDone);
      else this.#runs.delete(run.key);
    };
    const tracked = work.finally(() => {
      run.work = undefined;
      forgetOnceDone();
    });
    run.work = tracked;
    this.#runs.set(run.key, run);
    return tracked;
  }

  /** Whether the container or process of an action still runs, or is needed to know how the action ended. */
  #need(key: string): Need {
    const { journal } = this.#services;
    const entry = journal.find(key);
    if (entry && isSettled(entry)) return "settled";
    if (entry && !isUnreported(entry)) return true;
    const run = this.#runs.get(key);
    if (run) return run.need;
    // The server may still serve an action whose end it does not know, or whose entry is damaged.
    return entry || journal.damageOf(key) !== undefined ? "until-overdue" : false;
  }
}
