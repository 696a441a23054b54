import { defined } from "../../../shared/defined.ts";
import { type Action, type ActionId, actionKey, type Outcome } from "../action/action.ts";
import { isSettled, isUnreported, type UnreportedEntry } from "../journal/entry.ts";
import type { Need } from "../runtime/orphan.ts";
import { Turns } from "../turns/turns.ts";
import { adopt } from "./adopt.ts";
import type { Execution } from "./execution.ts";
import type { ExecutorOptions, StopSignals } from "./executor-options.ts";
import { LaunchPace } from "./launch-pace.ts";
import { LearnedHints } from "./learned-hints.ts";
import { OrphanSweep } from "./orphan-sweep.ts";
import { Reports } from "./reports.ts";
import { runAction } from "./run-action.ts";

/** The actions of a worker: those that the server serves (`runAction`), and those of an earlier worker (`adopt`). */
export class Executor {
  readonly #execution: Execution;
  /** By key: the server may serve an action in flight again. */
  readonly #inFlight = new Map<string, Promise<Outcome | undefined>>();
  /** Keys of actions whose end an earlier worker recorded and this one reports. */
  readonly #endedBefore = new Set<string>();

  constructor(options: ExecutorOptions) {
    this.#execution = {
      ...options,
      turns: new Turns(options.locks, options.slots),
      reports: new Reports(options),
      sweep: new OrphanSweep({ ...options, isNeeded: (key) => this.#isNeeded(key) }),
      hints: new LearnedHints(),
      pace: new LaunchPace(),
      earlierRuns: new Map(),
    };
  }

  /** Resolves to the outcome, or undefined when the action was not run: the server then serves it again. */
  execute(action: Action, signals: StopSignals): Promise<Outcome | undefined> {
    const key = actionKey(action);
    const own = this.#signalsOf(action, signals);
    return this.#inFlight.get(key) ?? this.#track(key, runAction(this.#execution, action, own));
  }

  /**
   * Adopts the actions of an earlier worker, and removes orphans now and then. Adopted actions get their machines before new ones
   * if this is called before the first `execute`. Resolves when all are done and the worker stops. Never rejects.
   */
  async recover(signals: StopSignals): Promise<void> {
    const { isShared: isSharedAction, journal, sweep } = this.#execution;
    const adopted = journal.unfinished().map((entry) => {
      const { key, action } = entry;
      const isShared = isSharedAction?.(action) ?? false;
      if (isUnreported(entry)) {
        if (isShared) return this.#withhold(entry, signals.stop);
        this.#endedBefore.add(key);
      }
      const terms = { isShared, ...defined({ damage: journal.damageOf(key) }) };
      const work = adopt(this.#execution, entry, this.#signalsOf(action, signals), terms);
      return this.#track(
        key,
        work.finally(() => this.#endedBefore.delete(key)),
      );
    });
    await Promise.all([...adopted, sweep.run(signals.stop)]);
  }

  /**
   * An earlier leader may have run the action again and reported its end. This one reports it only when the server serves the action, and
   * forgets it when a report would be abandoned. Never rejects.
   */
  async #withhold(entry: UnreportedEntry, stop: AbortSignal): Promise<void> {
    const { clock, journal, reports } = this.#execution;
    try {
      await clock.sleep(reports.remainingMs(new Date(entry.end.stoppedAt)), stop);
      if (journal.find(entry.key) === entry) await journal.remove(entry.key);
    } catch {
      // The next start tries again.
    }
  }

  /** Resolves when every final report is settled, or left to the next worker. */
  async reported(): Promise<void> {
    await this.#execution.reports.idle();
  }

  #signalsOf(action: ActionId, { stop, cancel }: StopSignals): StopSignals {
    const unwanted = this.#execution.cancelOf?.(action);
    if (!unwanted) return { stop, cancel };
    return { stop: AbortSignal.any([stop, unwanted]), cancel: AbortSignal.any([cancel, unwanted]) };
  }

  #track(key: string, work: Promise<Outcome | undefined>): Promise<Outcome | undefined> {
    const tracked = work.finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, tracked);
    return tracked;
  }

  /** Whether what was launched for an action still runs, or is needed to know how it ended. */
  #isNeeded(key: string): Need {
    const { journal, reports } = this.#execution;
    const entry = journal.find(key);
    if (entry && isSettled(entry)) return "settled";
    if (entry && !isUnreported(entry)) return true;
    const isInFlight = this.#inFlight.has(key) || reports.has(key);
    if (isInFlight) return this.#endedBefore.has(key) ? "once-ended" : true;
    // The server may still serve an action whose end it was not told, and that of a damaged entry.
    return entry || journal.damageOf(key) !== undefined ? "until-overdue" : false;
  }
}
