import type { Clock } from "../../shared/clock.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { defined } from "../../shared/defined.ts";
import { formatSeconds } from "../../shared/duration.ts";
import type { Logger } from "../../shared/logger.ts";
import { redactor } from "../../shared/secret-forms.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Action, ActionId, Outcome } from "../action/action.ts";
import { actionKey } from "../action/action-key.ts";
import { fieldsOf, type LogFields } from "../action/action-status.ts";
import { bootTime } from "../action/boot-time.ts";
import { type Hook, hookFor, hookReport, hooksOf } from "../action/hooks.ts";
import { type Observer, type SeenAction, seenAction } from "../action/observer.ts";
import { type JournalEntry, statusOf } from "../journal/entry.ts";
import type { ActionJournal } from "../journal/journal.ts";
import type { AuthGate } from "../machines/auth-gate.ts";
import type { ConnectionReading, MountedConnection } from "../machines/inventory.ts";
import type { SecretCommands } from "../machines/secret-commands.ts";
import type { Need } from "../runtime/orphan.ts";
import { failedLaunch, nothingToRemove } from "../runtime/outcome.ts";
import {
  Detached,
  type EndedAction,
  LaunchNotRecorded,
  type LaunchRequest,
  type LaunchTerms,
  NotLaunched,
  type Runtime,
} from "../runtime/runtime.ts";
import type { ActionSlots } from "../turns/action-slots.ts";
import type { Locks } from "../turns/machine-locks.ts";
import { Turns } from "../turns/turns.ts";
import { ActionOutput } from "./action-output.ts";
import { ActionRecorder, entryOf, type Launching, type RecorderParts } from "./action-recorder.ts";
import { Conclusion } from "./conclusion.ts";
import { FinalReports } from "./final-reports.ts";
import { LaunchPace } from "./launch-pace.ts";
import { LearnedHints } from "./learned-hints.ts";
import { LeftoverSweep } from "./leftover-sweep.ts";
import { Recovery, type RedactorOf } from "./recovery.ts";
import type { Reporter } from "./reporter.ts";

/** Whether an action may run, and the rule that says no. */
export type Permission = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** Which machine an action is for, if it may use it. */
export type Target =
  | {
      readonly ok: true;
      /** The machine's name; absent where the action brings its own connection or needs none. */
      readonly machine?: string;
      /** The BMC, whatever it is called; absent where there is none. */
      readonly lockKey?: string;
      /** On which it may run. */
      readonly terms?: LaunchTerms;
      /** Reads the credentials, anew at every launch. Rejects with a reason of one line, or the signal's. */
      connect?(reading: ConnectionReading): Promise<Connection>;
      /** What takes the place of `connect` where the secrets can reach the action without the worker. */
      mounted?(namespace: string): MountedConnection | undefined;
    }
  | { readonly ok: false; readonly reason: string };

type Located = Target & { ok: true };

export interface ExecutorOptions {
  /** By what can be said without its machine. */
  readonly permit: (action: Action) => Permission;
  readonly locate: (action: Action) => Target;
  readonly runtime: Runtime;
  readonly reporter: Reporter;
  readonly locks: Locks;
  readonly slots: ActionSlots;
  readonly authGate: AuthGate;
  readonly secretCommands: SecretCommands;
  readonly redactorOf: RedactorOf;
  /** Whether an action is still this worker's once its turn has come, which may take hours. */
  readonly isOurs: (action: Action) => boolean;
  /** Aborts when an action is no longer wanted where it came from. */
  readonly cancelOf?: (action: ActionId) => AbortSignal | undefined;
  readonly journal: ActionJournal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly defaultTimeoutMs: number;
  readonly observer: Pick<Observer, "action" | "spans">;
  /** Variables that join an action to its trace. */
  readonly traceEnvironment: (action: SeenAction) => Readonly<Record<string, string>>;
}

export interface StopSignals {
  /** Take nothing new: an action that still waits for its machine is left to be served again. */
  readonly stop: AbortSignal;
  /** Stop what runs. */
  readonly cancel: AbortSignal;
}

/** The longest time a Node timer can wait; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** A server that still serves what it was told the end of reads from a cache, which is seconds behind. */
const STALE_PAUSE_MS = 1_000;
/** For the repetition of a report: it is repeated again as long as the server serves the action. */
const REPEAT_MS = 5_000;
/** How long a cache may serve an action whose end was acknowledged. */
const STALE_AT_MOST_MS = 15_000;
/** A disk that is full may be made free; until then the server serves the action again. */
const UNWRITABLE_PAUSE_MS = 5_000;
const UNWRITABLE = "action not started: journal write failed";

/**
 * Takes one action from permission to acknowledged report: policy, machine, turn at the BMC, slot, RUNNING,
 * credentials, launch, final report, removal. Each step that cannot be taken back is in the journal before it
 * is taken, so that a worker that is killed anywhere in between goes on from there.
 */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #recording: RecorderParts;
  readonly #turns: Turns;
  readonly #launches = new LaunchPace();
  readonly #reports: FinalReports;
  readonly #conclusion: Conclusion;
  readonly #recovery: Recovery;
  readonly #hints = new LearnedHints();
  /** Actions at hand, by key: one that the server serves again meanwhile is not another one. */
  readonly #inFlight = new Map<string, Promise<Outcome | undefined>>();
  /**
   * By key, actions whose end an earlier worker wrote down, until that is reported: nothing of theirs is needed any more.
   */
  readonly #endedBefore = new Set<string>();
  readonly #sweep: LeftoverSweep;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const { clock, journal, log, observer, reporter, runtime } = options;
    this.#recording = { journal, clock, log };
    this.#sweep = new LeftoverSweep({ runtime, isNeeded: (key) => this.#isNeeded(key), clock, log });
    this.#reports = new FinalReports({ reporter, clock, log });
    this.#conclusion = new Conclusion({
      ...{ reports: this.#reports, clock, log, runtime: runtime.name, observer },
    });
    this.#turns = new Turns(options.locks, options.slots);
    this.#recovery = new Recovery({
      runtime,
      turns: this.#turns,
      conclusion: this.#conclusion,
      recording: this.#recording,
      sweep: this.#sweep,
      learn: (machine, outcome) => this.#learn(machine, outcome),
      redactorOf: options.redactorOf,
      clock,
      log,
      observer,
    });
  }

  /** Resolves to the outcome, or undefined when the action was not run: the server then serves it again. */
  execute(action: Action, signals: StopSignals): Promise<Outcome | undefined> {
    const key = actionKey(action);
    const own = this.#signalsOf(action, signals);
    return this.#inFlight.get(key) ?? this.#keepAtHand(key, this.#begin(action, key, own));
  }

  /**
   * Goes on with what an earlier worker left, each at its machine's turn before anything new there, as long as
   * this is called before the first `execute`, and looks for leftovers now and then. Resolves when all of it is done and
   * the worker stops. Never rejects.
   */
  async recover(signals: StopSignals): Promise<void> {
    const left = this.#options.journal.unfinished();
    const recovered = left.map((entry) => {
      const { key, phase, action } = entry;
      if (phase === "ended") this.#endedBefore.add(key);
      const work = this.#recovery.takeUp(entry, this.#signalsOf(action, signals));
      return this.#keepAtHand(
        key,
        work.finally(() => this.#endedBefore.delete(key)),
      );
    });
    await Promise.all([...recovered, this.#sweep.run(signals.stop)]);
  }

  /** Resolves when every final report is acknowledged, or is left to the next worker. */
  async reported(): Promise<void> {
    await this.#reports.idle();
  }

  #signalsOf(action: ActionId, { stop, cancel }: StopSignals): StopSignals {
    const unwanted = this.#options.cancelOf?.(action);
    if (!unwanted) return { stop, cancel };
    return { stop: AbortSignal.any([stop, unwanted]), cancel: AbortSignal.any([cancel, unwanted]) };
  }

  #keepAtHand(key: string, work: Promise<Outcome | undefined>): Promise<Outcome | undefined> {
    const kept = work.finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, kept);
    return kept;
  }

  async #begin(action: Action, key: string, signals: StopSignals): Promise<Outcome | undefined> {
    const isNew = this.#options.journal.find(key) === undefined;
    if (!(await this.#reports.admit(action, isNew))) return undefined;
    const known = this.#options.journal.find(key);
    if (known?.phase === "acknowledged") {
      if (this.#isSameRun(known, action)) return this.#repeat(known, action, signals);
      if (!(await this.#forget(known, signals))) return undefined;
    } else if (known) return this.#recovery.takeUp(known, signals);
    const damage = this.#options.journal.damageOf(key);
    if (damage !== undefined) return this.#adoptDamaged(action, damage, signals);
    return this.#observed(seenAction(action), () => this.#run(action, signals));
  }

  /** An action whose entry cannot be understood may have been launched; what it is comes from the server. */
  #adoptDamaged(action: Action, damage: string, signals: StopSignals): Promise<Outcome | undefined> {
    const target = this.#target(action);
    // What runs of it is adopted even where it may not run now. Its machine is then unknown, and so are its secrets.
    const launching = target.ok ? this.#launching(action, target) : this.#launching(action, {}, true);
    return this.#recovery.takeUp(entryOf(launching), signals, damage);
  }

  /** What goes on record of an action before it is launched. */
  #launching(
    action: Action,
    target: Pick<Located, "machine" | "lockKey" | "connect">,
    connected = target.connect !== undefined,
  ): Launching {
    const { clock, runtime, defaultTimeoutMs } = this.#options;
    const { machine, lockKey } = target;
    return {
      action,
      ...defined({ machine, lockKey }),
      runtime: runtime.name,
      connected,
      timeoutMs: action.timeoutMs > 0 ? action.timeoutMs : defaultTimeoutMs,
      startedAt: new Date(clock.now()),
      startedBootTime: bootTime(),
    };
  }

  async #run(action: Action, signals: StopSignals): Promise<Outcome | undefined> {
    const target = this.#target(action);
    if (!target.ok) return this.#refuse(action, target.reason, signals);
    const { clock, observer } = this.#options;
    const { machine } = target;
    const at = new Date(clock.now());
    observer.action({ kind: "taken", action: seenAction(action), ...(machine && { machine }), at });
    const inTurn = async () => {
      // Another replica has its agent ID now, and is served the action.
      if (!this.#options.isOurs(action)) return undefined;
      // Policy and inventory may have changed while it waited, which may take hours.
      const now = this.#target(action);
      if (!now.ok) return this.#refuse(action, now.reason, signals);
      // Another BMC has another turn: the server serves the action again.
      return now.lockKey === target.lockKey ? this.#launch(action, now, signals) : undefined;
    };
    return this.#turns.take(target, signals.stop, inTurn, { actionKey: actionKey(action) });
  }

  /** Says when an action was let go of without an end. */
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
      if (!outcome) observer.action({ kind: "left", action, at: new Date(clock.now()) });
    }
  }

  /** Where the action and every hook of it may act; one that may not is found out before anything is done. */
  #target(action: Action): Target {
    const target = this.#targetOf(action);
    if (!target.ok) return target;
    for (const hook of hooksOf(action)) {
      const other = this.#targetOf(hook.action);
      if (!other.ok) return { ok: false, reason: `${hook.name}: ${other.reason}` };
      if (other.lockKey !== target.lockKey) {
        return { ok: false, reason: `${hook.name}: is for another machine than the action` };
      }
    }
    return target;
  }

  #targetOf(action: Action): Target {
    const permission = this.#options.permit(action);
    return permission.allowed ? this.#options.locate(action) : { ok: false, reason: permission.reason };
  }

  async #launch(action: Action, target: Located, signals: StopSignals): Promise<Outcome | undefined> {
    const { log, reporter, runtime } = this.#options;
    const { machine } = target;
    const fields = fieldsOf(action, machine);
    const launching = this.#launching(action, target);
    const { startedAt, timeoutMs } = launching;
    let recorder: ActionRecorder;
    try {
      recorder = await ActionRecorder.begin(this.#recording, launching);
    } catch (thrown) {
      return this.#notRecorded(thrown, fields, signals);
    }
    const begun = await reporter.running(
      { action, ...(machine && { machine }), state: "running", startedAt, message: "running" },
      signals.stop,
    );
    if (begun !== "acknowledged") {
      log.warn({ ...fields, delivery: begun }, "action not started: start report failed");
      await recorder.forget();
      return undefined;
    }
    log.info({ ...fields, image: action.image, runtime: runtime.name }, "action started");
    this.#options.observer.action({
      ...{ kind: "started", action: seenAction(action), ...(machine && { machine }), runtime: runtime.name },
      ...{ startedAt, timeoutMs, adopted: false },
    });
    await this.#launches.next();
    let ended: EndedAction;
    try {
      ended = await this.#carryOut(
        action,
        target,
        { startedAt, timeoutMs, fields, onLaunch: (handle) => recorder.launched(handle) },
        signals.cancel,
      );
    } catch (thrown) {
      if (thrown instanceof Detached) {
        log.info({ ...fields, runtime: runtime.name }, "detached from action");
        return undefined;
      }
      if (thrown instanceof NotLaunched || thrown instanceof LaunchNotRecorded) await recorder.forget();
      if (thrown instanceof NotLaunched) return undefined;
      return this.#notRecorded(thrown, fields, signals);
    }
    const hook = hookFor(action, ended.outcome);
    const after = hook && (() => this.#runHook(hook, target, { timeoutMs, fields }, signals.cancel));
    // What an image without a connection says about a BMC is not from the BMC.
    if (target.connect) this.#learn(machine, ended.outcome);
    const concluding = { startedAt, recorder, fields, ...(machine && { machine }), ...(after && { after }) };
    return this.#conclusion.conclude(action, ended, concluding, signals.cancel);
  }

  /** Nothing was done. The server serves the action again, and by then there may be room. */
  async #notRecorded(thrown: unknown, fields: LogFields, { stop }: StopSignals): Promise<undefined> {
    if (!(thrown instanceof LaunchNotRecorded)) throw thrown;
    this.#options.log.error({ ...fields, error: thrown.message }, UNWRITABLE);
    await this.#options.clock.sleep(UNWRITABLE_PAUSE_MS, stop).catch(() => undefined);
  }

  async #carryOut(
    action: Action,
    target: Located,
    run: Pick<LaunchRequest, "onLaunch" | "timeoutMs"> & {
      readonly startedAt: Date;
      readonly fields: LogFields;
    },
    cancel: AbortSignal,
  ): Promise<EndedAction> {
    const { clock, log, runtime, authGate, observer, traceEnvironment } = this.#options;
    const { machine, lockKey } = target;
    const mounted = this.#mounted(target);
    const failed = (errorClass: ErrorClass, reason: string) =>
      nothingToRemove(failedLaunch(errorClass, reason, run.startedAt, new Date(clock.now())));
    let connection: Connection | undefined;
    try {
      if (!mounted) connection = await this.#connect(target, run.timeoutMs, cancel);
    } catch (thrown) {
      const { class: errorClass, message } = BmcError.from(thrown);
      return failed(errorClass, message);
    }
    const offer =
      machine === undefined || lockKey === undefined || connection === undefined
        ? undefined
        : { machine, lockKey, connection };
    const refusal = offer && authGate.refusal(offer);
    if (refusal !== undefined) return failed("auth", refusal);
    // A hook belongs to an action that was this worker's.
    if (run.onLaunch && !this.#options.isOurs(action))
      throw new NotLaunched("another replica has its agent ID");
    const output = new ActionOutput({
      ...{ action: seenAction(action), fields: run.fields, redact: redactor(connection ?? {}) },
      ...{ clock, log, observer },
    });
    const entry = connection ?? mounted?.document;
    const hint = machine === undefined || !entry ? undefined : this.#hints.find(machine, entry);
    const ended = await runtime.run(
      {
        action,
        ...(target.terms && { terms: target.terms }),
        ...(connection && { connection: hint === undefined ? connection : { ...connection, hint } }),
        ...(mounted && {
          mounted: hint === undefined ? mounted : { ...mounted, document: { ...mounted.document, hint } },
        }),
        timeoutMs: run.timeoutMs,
        environment: traceEnvironment(seenAction(action)),
        ...output.terms,
        ...(run.onLaunch && { onLaunch: run.onLaunch }),
      },
      cancel,
    );
    if (offer) authGate.learn(offer, ended.outcome);
    return { ...ended, outcome: output.complete(ended.outcome) };
  }

  /** The connection without its secrets, where the runtime has them mounted. */
  #mounted({ mounted }: Located): MountedConnection | undefined {
    const { secretNamespace } = this.#options.runtime;
    return secretNamespace === undefined ? undefined : mounted?.(secretNamespace);
  }

  /** Reads the credentials within the action's time. Throws a `BmcError`. */
  async #connect(
    { connect }: Located,
    timeoutMs: number,
    cancel: AbortSignal,
  ): Promise<Connection | undefined> {
    const deadline = AbortSignal.timeout(Math.min(timeoutMs, LONGEST_TIMER_MS));
    const signal = AbortSignal.any([cancel, deadline]);
    try {
      return await connect?.({ commands: this.#options.secretCommands, signal });
    } catch (thrown) {
      if (cancel.aborted) throw new BmcError("cancelled", "cancelled by the worker before it was launched");
      if (!deadline.aborted) throw thrown;
      throw new BmcError("timeout", `its credentials were not read within its ${formatSeconds(timeoutMs)}`);
    }
  }

  /**
   * Whether what the server serves is the run whose end it was told. Where a workflow made anew has the same IDs, it is as
   * long as the server has its start and not its end; before its start, only what comes at once can come out of a cache.
   */
  #isSameRun({ key, action }: Acknowledged, { begun }: Action): boolean {
    return !action.idMayReturn || begun === true || this.#isRecent(key);
  }

  #isRecent(key: string): boolean {
    return this.#options.journal.ageMs(key) < STALE_AT_MOST_MS;
  }

  /** An action whose end the server was told and which it serves all the same: it is told again, not run again. */
  async #repeat(entry: Acknowledged, served: Action, signals: StopSignals): Promise<undefined> {
    const { clock, journal, log, reporter } = this.#options;
    const fields = { ...fieldsOf(entry.action, entry.machine), state: entry.end.state };
    if (entry.action.idMayReturn && this.#isRecent(entry.key)) {
      log.debug(fields, "stale action skipped: server cache is behind");
      return undefined;
    }
    log.warn(fields, "duplicate action skipped: already ended");
    // A workflow made anew must not be told how the one before it ended: it has not begun.
    if (!entry.action.idMayReturn || served.begun) {
      await reporter.within(REPEAT_MS, statusOf(entry), signals.stop);
    }
    try {
      // What is still served must not be forgotten.
      await journal.write({ ...entry, acknowledgedAt: new Date(clock.now()).toISOString() });
    } catch (thrown) {
      log.error({ ...fields, error: textOf(thrown) }, "journal write failed: action end not recorded");
    }
    await clock.sleep(STALE_PAUSE_MS, signals.stop).catch(() => undefined);
    return undefined;
  }

  /**
   * Forgets a run before another one with the same IDs begins: from then on, whatever the server has begun is the new one,
   * which must not be told the old one's end. False when that cannot be written, and so nothing may begin.
   */
  async #forget({ key, action, machine }: Acknowledged, { stop }: StopSignals): Promise<boolean> {
    const { clock, journal, log } = this.#options;
    try {
      await journal.remove(key);
      return true;
    } catch (thrown) {
      log.error({ ...fieldsOf(action, machine), error: textOf(thrown) }, UNWRITABLE);
      await clock.sleep(UNWRITABLE_PAUSE_MS, stop).catch(() => undefined);
      return false;
    }
  }

  /**
   * Runs a hook between the action's end and its report, as the worker of tink 0.12 does: until the workflow has failed,
   * nobody else begins anything at the machine. It has as much time as the action had; there it had no end.
   */
  async #runHook(
    hook: Hook,
    target: Located,
    run: { readonly timeoutMs: number; readonly fields: LogFields },
    cancel: AbortSignal,
  ): Promise<string> {
    const { clock, log } = this.#options;
    const fields = { ...run.fields, hook: hook.name };
    log.info(fields, "hook started");
    const startedAt = new Date(clock.now());
    const ended = await this.#carryOut(hook.action, target, { ...run, fields, startedAt }, cancel);
    const { ok, message } = ended.outcome;
    log[ok ? "info" : "warn"]({ ...fields, result: message }, ok ? "hook succeeded" : "hook failed");
    await this.#conclusion.remove(ended, fields);
    return hookReport(hook, ended.outcome);
  }

  /** Whether what was launched for an action runs now, or tells how it ended. */
  #isNeeded(key: string): Need {
    const { journal } = this.#options;
    const phase = journal.find(key)?.phase;
    if (phase === "launching" || phase === "launched") return true;
    if (phase === "acknowledged") return false;
    const isInHand = this.#inFlight.has(key) || this.#reports.has(key);
    if (isInHand && !this.#endedBefore.has(key)) return true;
    // The server may serve its action yet.
    return phase === undefined && journal.damageOf(key) !== undefined ? "until-overdue" : false;
  }

  /** A refused action starts and fails, as the server expects of every action. */
  async #refuse(action: Action, reason: string, signals: StopSignals): Promise<Outcome | undefined> {
    const { clock, log, observer, reporter } = this.#options;
    log.warn({ ...fieldsOf(action), image: action.image, reason }, "action refused");
    const now = new Date(clock.now());
    observer.action({ kind: "refused", action: seenAction(action), reason, at: now });
    const outcome = failedLaunch("usage", reason, now, now);
    const begun = await reporter.running(
      { action, state: "running", startedAt: now, message: "running" },
      signals.stop,
    );
    if (begun !== "acknowledged") return undefined;
    await this.#conclusion.refused(action, outcome, now, signals.cancel);
    return outcome;
  }

  #learn(machine: string | undefined, { result }: Outcome): void {
    if (machine !== undefined) this.#hints.learn(machine, result?.hint);
  }
}

type Acknowledged = JournalEntry & { phase: "acknowledged" };
