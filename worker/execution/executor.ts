import { defined } from "../../shared/defined.ts";
import { type Action, type ActionId, actionKey, type Outcome } from "../action/action.ts";
import { type SeenAction, seenAction } from "../action/observer.ts";
import { isSettled, isUnreported, type UnreportedEntry } from "../journal/entry.ts";
import type { Need } from "../runtime/orphan.ts";
import type { ActionSlots, Locks } from "../turns/turns.ts";
import { Turns } from "../turns/turns.ts";
import type { RecorderOptions } from "./action-recorder.ts";
import { Admission, type AdmissionOptions } from "./admit.ts";
import { Adopter, type AdopterOptions } from "./adopt.ts";
import { Conclusion } from "./conclude.ts";
import { FinalReports } from "./final-reports.ts";
import { Launcher, type LauncherOptions } from "./launch.ts";
import { LearnedHints } from "./learned-hints.ts";
import { OrphanSweep } from "./orphan-sweep.ts";
import type { StopSignals } from "./stop-signals.ts";

export interface ExecutorOptions
  extends Pick<AdmissionOptions, "permit" | "locate">,
    Pick<
      LauncherOptions,
      "runtime" | "reporter" | "workflowCheck" | "isOurs" | "traceEnvironment" | "observer"
    >,
    Pick<LauncherOptions, "authGate" | "secretCommands">,
    Pick<AdopterOptions, "redactorOf">,
    Omit<RecorderOptions, "runtime"> {
  readonly locks: Locks;
  readonly slots: ActionSlots;
  /** After that time in the queue, and for its journal entry, an action is left to the server: another replica may have ended it. */
  readonly staleAfterMs?: number | undefined;
  /** A signal that aborts when the source no longer wants the action. */
  readonly cancelOf?: (action: ActionId) => AbortSignal | undefined;
}

/**
 * Takes each action through the steps of this folder: admit, launch or adopt, conclude, report. Each step that cannot be undone
 * is in the journal first, so that the next worker can continue after a crash at any point.
 */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #turns: Turns;
  readonly #reports: FinalReports;
  readonly #admission: Admission;
  readonly #launcher: Launcher;
  readonly #adopter: Adopter;
  readonly #sweep: OrphanSweep;
  /** By key: the server may serve an action in flight again. */
  readonly #inFlight = new Map<string, Promise<Outcome | undefined>>();
  /** Keys of actions whose end an earlier worker recorded and this one reports: no container or process of theirs is needed. */
  readonly #endedBefore = new Set<string>();

  constructor(options: ExecutorOptions) {
    const { runtime, journal, clock, log, observer, defaultTimeoutMs } = options;
    const recording = { journal, clock, log, runtime: runtime.name, defaultTimeoutMs };
    const hints = new LearnedHints();
    this.#options = options;
    this.#turns = new Turns(options.locks, options.slots);
    this.#reports = new FinalReports(options);
    this.#sweep = new OrphanSweep({ runtime, isNeeded: (key) => this.#isNeeded(key), clock, log });
    const conclusion = new Conclusion({
      ...{ reports: this.#reports, recording, observer },
      onLeft: (ended) => this.#sweep.add(ended),
    });
    this.#admission = new Admission({ ...options, recording, reports: this.#reports, conclusion });
    this.#launcher = new Launcher({ ...options, recording, conclusion, hints });
    const [turns, sweep] = [this.#turns, this.#sweep];
    this.#adopter = new Adopter({ ...options, recording, conclusion, hints, turns, sweep });
  }

  /** Resolves to the outcome, or undefined when the action was not run: the server then serves it again. */
  execute(action: Action, signals: StopSignals): Promise<Outcome | undefined> {
    const key = actionKey(action);
    const own = this.#signalsOf(action, signals);
    return this.#inFlight.get(key) ?? this.#track(key, this.#execute(action, own));
  }

  /**
   * Adopts the actions of an earlier worker, and removes orphans now and then. Adopted actions get their machines before new ones
   * if this is called before the first `execute`. Resolves when all are done and the worker stops. Never rejects.
   */
  async recover(signals: StopSignals): Promise<void> {
    const { isOurs, journal } = this.#options;
    const adopted = journal.unfinished().map((entry) => {
      const { key, action } = entry;
      const isShared = !isOurs({ ...action, environment: {} });
      if (isUnreported(entry)) {
        if (isShared) return this.#withhold(entry, signals.stop);
        this.#endedBefore.add(key);
      }
      const terms = { isShared, ...defined({ damage: journal.damageOf(key) }) };
      const work = this.#adopter.adopt(entry, this.#signalsOf(action, signals), terms);
      return this.#track(
        key,
        work.finally(() => this.#endedBefore.delete(key)),
      );
    });
    await Promise.all([...adopted, this.#sweep.run(signals.stop)]);
  }

  /**
   * Another replica may have run the action again and reported its end. This one reports it only when the server serves the action, and
   * forgets it when a report would be abandoned. Never rejects.
   */
  async #withhold(entry: UnreportedEntry, stop: AbortSignal): Promise<void> {
    const { clock, journal } = this.#options;
    try {
      await clock.sleep(this.#reports.remainingMs(new Date(entry.end.stoppedAt)), stop);
      if (journal.find(entry.key) === entry) await journal.remove(entry.key);
    } catch {
      // The next start tries again.
    }
  }

  /** Resolves when every final report is settled, or left to the next worker. */
  async reported(): Promise<void> {
    await this.#reports.idle();
  }

  #signalsOf(action: ActionId, { stop, cancel }: StopSignals): StopSignals {
    const unwanted = this.#options.cancelOf?.(action);
    if (!unwanted) return { stop, cancel };
    return { stop: AbortSignal.any([stop, unwanted]), cancel: AbortSignal.any([cancel, unwanted]) };
  }

  #track(key: string, work: Promise<Outcome | undefined>): Promise<Outcome | undefined> {
    const tracked = work.finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, tracked);
    return tracked;
  }

  async #execute(action: Action, signals: StopSignals): Promise<Outcome | undefined> {
    const admitted = await this.#admission.admit(action, signals);
    switch (admitted.kind) {
      case "skip":
        return undefined;
      case "adopt":
        return this.#adopter.adopt(admitted.entry, signals, defined({ damage: admitted.damage }));
      case "new":
        return this.#observed(seenAction(action), () => this.#run(action, signals));
      default:
        return admitted satisfies never;
    }
  }

  async #run(action: Action, signals: StopSignals): Promise<Outcome | undefined> {
    const target = this.#admission.targetOf(action);
    if (!target.ok) return this.#admission.refuse(action, target.reason, signals);
    this.#admission.accepted(action, target);
    const { clock, staleAfterMs = Number.POSITIVE_INFINITY } = this.#options;
    const staleMs = clock.monotonicMs() + staleAfterMs;
    const mayBegin = () => this.#options.isOurs(action) && clock.monotonicMs() <= staleMs;
    const inTurn = async () => {
      if (!mayBegin()) return undefined;
      // Policy and inventory may have changed while the action waited.
      const now = this.#admission.targetOf(action);
      if (!now.ok) return this.#admission.refuse(action, now.reason, signals);
      // Another BMC needs another turn: the server serves the action again.
      return now.lockKey === target.lockKey
        ? this.#launcher.launch(action, now, signals, mayBegin)
        : undefined;
    };
    const purpose = { actionKey: actionKey(action), workflowId: action.workflowId };
    return this.#turns.take(target, signals.stop, inTurn, purpose);
  }

  /** Notifies the observers if an action returns to the server. */
  async #observed(
    action: SeenAction,
    work: () => Promise<Outcome | undefined>,
  ): Promise<Outcome | undefined> {
    let outcome: Outcome | undefined;
    try {
      outcome = await work();
      return outcome;
    } finally {
      const { clock, observer } = this.#options;
      if (!outcome) observer.action({ kind: "returned", action, at: new Date(clock.now()) });
    }
  }

  /** Whether what was launched for an action still runs, or is needed to know how it ended. */
  #isNeeded(key: string): Need {
    const { journal } = this.#options;
    const entry = journal.find(key);
    if (entry && isSettled(entry)) return "settled";
    if (entry && !isUnreported(entry)) return true;
    const isInFlight = this.#inFlight.has(key) || this.#reports.has(key);
    if (isInFlight) return !this.#endedBefore.has(key);
    // The server may still serve an action whose end it was not told, and that of a damaged entry.
    return entry || journal.damageOf(key) !== undefined ? "until-overdue" : false;
  }
}
