import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Action, ActionId, Outcome } from "../action/action.ts";
import { actionKey } from "../action/action-key.ts";
import { type Observer, type SeenAction, seenAction } from "../action/observer.ts";
import type { ActionJournal } from "../journal/journal.ts";
import type { AuthGate } from "../machines/auth-gate.ts";
import type { SecretCommands } from "../machines/secret-commands.ts";
import type { Need } from "../runtime/orphan.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ActionSlots } from "../turns/action-slots.ts";
import type { Locks } from "../turns/machine-locks.ts";
import { Turns } from "../turns/turns.ts";
import { Admission, type Permission, type Target } from "./admit.ts";
import { Adopter, type RedactorOf } from "./adopt.ts";
import { Conclusion } from "./conclude.ts";
import { Credentials } from "./credentials.ts";
import { FinalReports } from "./final-reports.ts";
import { Launcher, type TraceEnvironment } from "./launch.ts";
import { LearnedHints } from "./learned-hints.ts";
import { OrphanSweep } from "./orphan-sweep.ts";
import type { Reporter } from "./report.ts";
import type { StopSignals } from "./stop-signals.ts";

export interface ExecutorOptions {
  /** Whether an action may run, without regard to its machine. */
  readonly permit: (action: Action) => Permission;
  readonly locate: (action: Action) => Target;
  readonly runtime: Runtime;
  readonly reporter: Reporter;
  readonly locks: Locks;
  readonly slots: ActionSlots;
  readonly authGate: AuthGate;
  readonly secretCommands: SecretCommands;
  readonly redactorOf: RedactorOf;
  /** Whether this worker still owns an action when its turn has come, which may take hours. */
  readonly isOurs: (action: Action) => boolean;
  /** A signal that aborts when the source no longer wants the action. */
  readonly cancelOf?: (action: ActionId) => AbortSignal | undefined;
  readonly journal: ActionJournal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly defaultTimeoutMs: number;
  readonly observer: Pick<Observer, "action" | "spans">;
  readonly traceEnvironment: TraceEnvironment;
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
    const { runtime, journal, clock, log, observer, reporter, defaultTimeoutMs, isOurs } = options;
    const recording = { journal, clock, log, runtime: runtime.name, defaultTimeoutMs };
    const hints = new LearnedHints();
    const turns = new Turns(options.locks, options.slots);
    const reports = new FinalReports({ reporter, clock, log });
    const conclusion = new Conclusion({ reports, clock, log, runtime: runtime.name, observer });
    const credentials = new Credentials({
      secretNamespace: runtime.secretNamespace,
      authGate: options.authGate,
      commands: options.secretCommands,
      hints,
    });
    const sweep = new OrphanSweep({ runtime, isNeeded: (key) => this.#isNeeded(key), clock, log });
    this.#options = options;
    this.#turns = turns;
    this.#reports = reports;
    this.#sweep = sweep;
    this.#admission = new Admission({
      permit: options.permit,
      locate: options.locate,
      recording,
      reports,
      reporter,
      conclusion,
      observer,
    });
    this.#launcher = new Launcher({
      runtime,
      reporter,
      conclusion,
      credentials,
      recording,
      hints,
      isOurs,
      traceEnvironment: options.traceEnvironment,
      observer,
    });
    this.#adopter = new Adopter({
      runtime,
      turns,
      conclusion,
      recording,
      sweep,
      hints,
      redactorOf: options.redactorOf,
      observer,
    });
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
    const adopted = this.#options.journal.unfinished().map((entry) => {
      const { key, phase, action } = entry;
      if (phase === "ended") this.#endedBefore.add(key);
      const work = this.#adopter.adopt(entry, this.#signalsOf(action, signals));
      return this.#track(
        key,
        work.finally(() => this.#endedBefore.delete(key)),
      );
    });
    await Promise.all([...adopted, this.#sweep.run(signals.stop)]);
  }

  /** Resolves when every final report is acknowledged, or left to the next worker. */
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
        return this.#adopter.adopt(admitted.entry, signals, admitted.damage);
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
    const inTurn = async () => {
      if (!this.#options.isOurs(action)) return undefined;
      // Policy and inventory may have changed while the action waited.
      const now = this.#admission.targetOf(action);
      if (!now.ok) return this.#admission.refuse(action, now.reason, signals);
      // Another BMC needs another turn: the server serves the action again.
      return now.lockKey === target.lockKey ? this.#launcher.launch(action, now, signals) : undefined;
    };
    return this.#turns.take(target, signals.stop, inTurn, { actionKey: actionKey(action) });
  }

  /** Tells the observers if an action goes back to the server. */
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
    const phase = journal.find(key)?.phase;
    if (phase === "launching" || phase === "launched") return true;
    if (phase === "acknowledged") return false;
    const isInFlight = this.#inFlight.has(key) || this.#reports.has(key);
    if (isInFlight && !this.#endedBefore.has(key)) return true;
    // The server may still serve the action of a damaged entry.
    return phase === undefined && journal.damageOf(key) !== undefined ? "until-overdue" : false;
  }
}
