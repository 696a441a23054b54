import type { Clock } from "../shared/clock.ts";
import type { Connection } from "../shared/contract/connection.ts";
import { oneLine } from "../shared/contract/result.ts";
import { formatSeconds } from "../shared/duration.ts";
import type { Logger } from "../shared/logger.ts";
import type { Action, ActionId, ActionState, ActionStatus, Outcome } from "./action.ts";
import { actionKey } from "./action-key.ts";
import { ActionRecorder, type RecorderParts } from "./action-recorder.ts";
import type { ActionSlots } from "./action-slots.ts";
import type { AuthGate } from "./auth-gate.ts";
import type { JournalEntry } from "./journal/entry.ts";
import type { ActionJournal } from "./journal/journal.ts";
import type { MachineLocks } from "./machine-locks.ts";
import { type Reporter, reportFields } from "./reporter.ts";
import { readLogLine } from "./runtime/log-line.ts";
import { failedLaunch, nothingLeft } from "./runtime/outcome.ts";
import type { Adoption, EndedAction, LaunchHandle, LogLine, Runtime } from "./runtime/runtime.ts";

/** Whether an action may run, and the rule that says no. */
export type Permission = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** Which machine an action is for. */
export type Target =
  | {
      readonly ok: true;
      /** The machine's name; absent where the action brings its own connection or needs none. */
      readonly machine?: string;
      /** The BMC, whatever it is called; absent where there is none. */
      readonly lockKey?: string;
      /** Reads the credentials, anew at every launch. Rejects with a reason of one line. */
      connect?(): Promise<Connection>;
    }
  | { readonly ok: false; readonly reason: string };

type Located = Target & { ok: true };

export interface ExecutorOptions {
  readonly permit: (action: Action) => Permission;
  readonly locate: (action: Action) => Target;
  readonly runtime: Runtime;
  readonly reporter: Reporter;
  readonly locks: MachineLocks;
  readonly slots: ActionSlots;
  readonly authGate: AuthGate;
  readonly journal: ActionJournal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly defaultTimeoutMs: number;
}

export interface StopSignals {
  /** Take nothing new: an action that still waits for its machine is left to be served again. */
  readonly stop: AbortSignal;
  /** Stop what runs. */
  readonly cancel: AbortSignal;
}

/** For reports and clean-up once the worker is being stopped the hard way. */
const LAST_WORDS_MS = 10_000;
const REMOVE_TIMEOUT_MS = 30_000;
/** A server that still serves what it was told the end of reads from a cache, which is seconds behind. */
const STALE_PAUSE_MS = 1_000;
/** How long a cache may serve an action whose end was acknowledged. */
const STALE_AT_MOST_MS = 15_000;
/** A disk that is full may be made free; until then the server serves the action again. */
const UNWRITABLE_PAUSE_MS = 5_000;

/**
 * Takes one action from permission to acknowledged report: policy, machine, turn at the BMC, slot, RUNNING,
 * credentials, launch, final report, removal. Each step that cannot be taken back is in the journal before it
 * is taken, so that a worker that is killed anywhere in between goes on from there.
 */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #recording: RecorderParts;
  /** What actions learned about each machine, for the next one's connection. */
  readonly #hints = new Map<string, unknown>();
  /** Actions at hand, by key: one that the server serves again meanwhile is not another one. */
  readonly #atHand = new Map<string, Promise<Outcome | undefined>>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#recording = { journal: options.journal, clock: options.clock, log: options.log };
  }

  /** Resolves to the outcome, or undefined when the action was not run: the server then serves it again. */
  execute(action: Action, signals: StopSignals): Promise<Outcome | undefined> {
    const key = actionKey(action);
    return this.#atHand.get(key) ?? this.#keepAtHand(key, this.#begin(action, key, signals));
  }

  /**
   * Goes on with what an earlier worker left, each at its machine's turn before anything new there, as long as
   * this is called before the first `execute`. Resolves when all of it is done.
   */
  async recover(signals: StopSignals): Promise<void> {
    const left = this.#options.journal.unfinished();
    const recovered = left.map((entry) =>
      this.#keepAtHand(entry.key, this.#recoverOne(entry, signals)).catch((thrown: unknown) => {
        if (!signals.stop.aborted) throw thrown;
      }),
    );
    await Promise.all([...recovered, this.#sweep(left, signals.cancel)]);
  }

  #keepAtHand(key: string, work: Promise<Outcome | undefined>): Promise<Outcome | undefined> {
    const kept = work.finally(() => this.#atHand.delete(key));
    this.#atHand.set(key, kept);
    return kept;
  }

  async #begin(action: Action, key: string, signals: StopSignals): Promise<Outcome | undefined> {
    const known = this.#options.journal.find(key);
    if (known?.phase === "acknowledged" && this.#isServedLate(known)) return this.#repeat(known, signals);
    const permission = this.#options.permit(action);
    const target = permission.allowed ? this.#options.locate(action) : permission;
    if ("reason" in target) {
      this.#options.log.warn(
        { ...fieldsOf(action), image: action.image, reason: target.reason },
        "action refused",
      );
      return this.#refuse(action, target.reason, signals);
    }
    return this.#inTurn(target.lockKey, signals, () => this.#launch(action, target, signals));
  }

  /** One action at a time at a BMC, and so many at a time in all. Undefined when the worker stopped meanwhile. */
  async #inTurn<T>(
    lockKey: string | undefined,
    { stop }: StopSignals,
    work: () => Promise<T>,
  ): Promise<T | undefined> {
    const held: (() => void)[] = [];
    try {
      try {
        if (lockKey !== undefined) held.push(await this.#options.locks.acquire(lockKey, stop));
        held.push(await this.#options.slots.acquire(stop));
      } catch (thrown) {
        if (stop.aborted) return undefined;
        throw thrown;
      }
      return await work();
    } finally {
      for (const release of held.toReversed()) release();
    }
  }

  async #launch(action: Action, target: Located, signals: StopSignals): Promise<Outcome | undefined> {
    const { clock, log, reporter, runtime, defaultTimeoutMs } = this.#options;
    const { machine, lockKey } = target;
    const fields = { ...fieldsOf(action), ...(machine ? { machine } : {}) };
    const startedAt = new Date(clock.now());
    const begun = await reporter.running(
      { action, state: "running", startedAt, message: "running" },
      signals.stop,
    );
    if (begun !== "acknowledged") {
      log.warn({ ...fields, delivery: begun }, "action not started: the server did not take its start");
      return undefined;
    }
    const timeoutMs = action.timeoutMs > 0 ? action.timeoutMs : defaultTimeoutMs;
    const launching = {
      action,
      ...(machine === undefined ? {} : { machine }),
      ...(lockKey === undefined ? {} : { lockKey }),
      runtime: runtime.name,
      timeoutMs,
      startedAt,
    };
    let recorder: ActionRecorder;
    try {
      recorder = await ActionRecorder.begin(this.#recording, launching);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      log.error({ ...fields, error }, "action not started: the journal cannot be written");
      await clock.sleep(UNWRITABLE_PAUSE_MS, signals.stop).catch(() => undefined);
      return undefined;
    }
    log.info({ ...fields, image: action.image, runtime: runtime.name }, "action started");
    const { ended, connection } = await this.#run(
      action,
      target,
      { startedAt, timeoutMs, recorder, fields },
      signals.cancel,
    );
    // Credentials that were refused are not offered a second time.
    const known = ended.outcome.class === "auth" ? undefined : connection;
    const hook = () =>
      this.#runHook(
        action,
        ended,
        { ...(known && { connection: known }), timeoutMs, fields },
        signals.cancel,
      );
    return this.#conclude(action, ended, { startedAt, recorder, fields, hook }, signals);
  }

  async #run(
    action: Action,
    target: Located,
    run: {
      readonly startedAt: Date;
      readonly timeoutMs: number;
      readonly recorder: ActionRecorder;
      readonly fields: LogFields;
    },
    cancel: AbortSignal,
  ): Promise<{ readonly ended: EndedAction; readonly connection?: Connection }> {
    const { clock, runtime, authGate } = this.#options;
    const { machine } = target;
    const failed = (errorClass: "auth" | "usage", reason: string) => ({
      ended: nothingLeft(failedLaunch(errorClass, reason, run.startedAt, new Date(clock.now()))),
    });
    let connection: Connection | undefined;
    try {
      connection = await target.connect?.();
    } catch (thrown) {
      return failed("usage", thrown instanceof Error ? thrown.message : String(thrown));
    }
    const gated = machine === undefined || connection === undefined ? undefined : { machine, connection };
    const refusal = gated && authGate.refusal(gated.machine, gated.connection);
    if (refusal !== undefined) return failed("auth", refusal);
    const hint = machine === undefined ? undefined : this.#hints.get(machine);
    const ended = await runtime.run(
      {
        action,
        ...(connection && { connection: hint === undefined ? connection : { ...connection, hint } }),
        timeoutMs: run.timeoutMs,
        onLog: (line) => this.#log(run.fields, line),
        onLaunched: (handle) => run.recorder.launched(handle),
      },
      cancel,
    );
    if (gated && ended.outcome.class === "auth") {
      authGate.refused(gated.machine, gated.connection, ended.outcome.stoppedAt);
    } else if (gated && ended.outcome.ok) authGate.accepted(gated.machine);
    return { ended, ...(connection && { connection }) };
  }

  /** From the end of an action to its acknowledged report and the removal of what is left of it. */
  async #conclude(
    action: ActionId,
    ended: EndedAction,
    { startedAt, recorder, fields, hook }: Concluding,
    signals: StopSignals,
  ): Promise<Outcome> {
    const { outcome } = ended;
    this.#learn(fields["machine"], outcome);
    this.#logEnd(outcome, startedAt, fields);
    const status = endStatus(action, outcome, startedAt);
    await recorder.ended(status);
    await hook?.();
    await this.#reportEnd(status, ended, { recorder, fields }, signals.cancel);
    return outcome;
  }

  async #reportEnd(
    status: ActionStatus,
    ended: EndedAction,
    { recorder, fields }: Pick<Concluding, "recorder" | "fields">,
    cancel: AbortSignal,
  ): Promise<void> {
    const delivery = await this.#deliver(status, cancel);
    // What is not acknowledged is kept, so that a restarted worker finds it instead of running it again.
    if (delivery === "unanswered") return;
    await recorder.acknowledged();
    await this.#remove(ended, fields);
  }

  async #deliver(status: ActionStatus, cancel: AbortSignal) {
    const { reporter } = this.#options;
    if (!cancel.aborted) {
      const delivery = await reporter.final(status, cancel);
      if (delivery !== "unanswered") return delivery;
    }
    return reporter.final(status, AbortSignal.timeout(LAST_WORDS_MS));
  }

  /** Where a workflow made anew has the same IDs, only what comes at once can come out of a cache. */
  #isServedLate({ action, acknowledgedAt }: Acknowledged): boolean {
    return !action.idMayReturn || this.#options.clock.now() - Date.parse(acknowledgedAt) < STALE_AT_MOST_MS;
  }

  /** An action whose end the server has acknowledged and serves all the same: it is told again, not run again. */
  async #repeat(entry: Acknowledged, signals: StopSignals): Promise<Outcome | undefined> {
    const { clock, log, reporter } = this.#options;
    const fields = { ...fieldsOf(entry.action), state: entry.end.state };
    log.warn(fields, "action served again after its end: not run");
    // A workflow made anew must not be told how the one before it ended.
    if (!entry.action.idMayReturn) await reporter.final(statusOf(entry), signals.stop);
    await clock.sleep(STALE_PAUSE_MS, signals.stop).catch(() => undefined);
    return undefined;
  }

  /** What the deprecated API lets a template say for the case of a failure: the same image with other arguments. */
  async #runHook(
    action: Action,
    { outcome }: EndedAction,
    run: { readonly connection?: Connection; readonly timeoutMs: number; readonly fields: LogFields },
    cancel: AbortSignal,
  ): Promise<void> {
    const hook = hookOf(action, outcome);
    if (!hook || cancel.aborted) return;
    const { log, runtime } = this.#options;
    const fields = { ...run.fields, hook: hook.name };
    log.info(fields, "hook started");
    const ended = await runtime.run(
      {
        action: { ...action, actionId: `${action.actionId}/${hook.name}`, command: hook.command },
        ...(run.connection ? { connection: run.connection } : {}),
        timeoutMs: run.timeoutMs,
        onLog: (line) => this.#log(fields, line),
      },
      cancel,
    );
    const { ok, message } = ended.outcome;
    log[ok ? "info" : "warn"]({ ...fields, result: message }, ok ? "hook succeeded" : "hook failed");
    await this.#remove(ended, fields);
  }

  async #recoverOne(entry: JournalEntry, signals: StopSignals): Promise<Outcome | undefined> {
    const recorder = ActionRecorder.resume(this.#recording, entry);
    const fields = { ...fieldsOf(entry.action), ...(entry.machine ? { machine: entry.machine } : {}) };
    if (entry.phase === "ended") {
      this.#options.log.info(
        { ...fields, state: entry.end.state },
        "report of an earlier run is still to be made",
      );
      const ended = nothingLeft(failedLaunch("internal", "", new Date(), new Date()));
      await this.#reportEnd(statusOf(entry), ended, { recorder, fields }, signals.cancel);
      return undefined;
    }
    return this.#inTurn(entry.lockKey, signals, () => this.#adopt(entry, recorder, fields, signals));
  }

  async #adopt(
    entry: JournalEntry,
    recorder: ActionRecorder,
    fields: LogFields,
    signals: StopSignals,
  ): Promise<Outcome | undefined> {
    const { clock, log, runtime } = this.#options;
    const startedAt = new Date(entry.startedAt);
    const adoption = await this.#adoption(entry, fields, signals.cancel);
    switch (adoption.kind) {
      case "ended":
        return this.#conclude(entry.action, adoption.ended, { startedAt, recorder, fields }, signals);
      case "not-launched":
        log.info(fields, "action of an earlier run was not launched: the server serves it again");
        await recorder.forget();
        return undefined;
      case "lost": {
        const facts = { ...fields, runtime: runtime.name, reason: adoption.reason };
        if (adoption.idempotent) {
          log.warn(facts, "action of an earlier run was lost and is idempotent: the server serves it again");
          await recorder.forget();
          return undefined;
        }
        log.warn(facts, "action of an earlier run was lost and is not idempotent: not run again");
        const reason = `${adoption.reason}; it may have been carried out and is not idempotent, so it is not run again`;
        const lost = nothingLeft(failedLaunch("internal", reason, startedAt, new Date(clock.now())));
        return this.#conclude(entry.action, lost, { startedAt, recorder, fields }, signals);
      }
      default:
        return adoption satisfies never;
    }
  }

  async #adoption(entry: JournalEntry, fields: LogFields, cancel: AbortSignal): Promise<Adoption> {
    const { runtime } = this.#options;
    if (entry.runtime !== runtime.name) {
      const reason = `the worker was restarted with the runtime ${runtime.name}, it ran with ${entry.runtime}`;
      return { kind: "lost", reason, idempotent: false };
    }
    const handle: LaunchHandle | undefined = entry.phase === "launched" ? entry.handle : undefined;
    return runtime.adopt(
      {
        action: entry.action,
        ...(handle === undefined ? {} : { handle }),
        startedAt: new Date(entry.startedAt),
        timeoutMs: entry.timeoutMs,
        onLog: (line) => this.#log(fields, line),
      },
      cancel,
    );
  }

  async #sweep(left: readonly JournalEntry[], signal: AbortSignal): Promise<void> {
    const { log, runtime } = this.#options;
    try {
      const removed = await runtime.sweep(new Set(left.map(({ key }) => key)), signal);
      if (removed > 0) log.info({ removed }, "leftovers of earlier workers removed");
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      log.warn({ error }, "leftovers of earlier workers could not be looked for");
    }
  }

  /** A refused action starts and fails, as the server expects of every action. */
  async #refuse(action: Action, reason: string, signals: StopSignals): Promise<Outcome | undefined> {
    const { clock, reporter } = this.#options;
    const now = new Date(clock.now());
    const outcome = failedLaunch("usage", reason, now, now);
    const begun = await reporter.running(
      { action, state: "running", startedAt: now, message: "running" },
      signals.stop,
    );
    if (begun !== "acknowledged") return undefined;
    await this.#deliver(endStatus(action, outcome, now), signals.cancel);
    return outcome;
  }

  async #remove(ended: EndedAction, fields: LogFields): Promise<void> {
    try {
      await ended.remove(AbortSignal.timeout(REMOVE_TIMEOUT_MS));
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      this.#options.log.error({ ...fields, error }, "what is left of the action could not be removed");
    }
  }

  #learn(machine: string | undefined, { result }: Outcome): void {
    if (machine !== undefined && result?.hint !== undefined) this.#hints.set(machine, result.hint);
  }

  #logEnd(outcome: Outcome, startedAt: Date, fields: LogFields): void {
    const facts = {
      ...fields,
      ...(outcome.class ? { class: outcome.class } : {}),
      ...(outcome.exitCode === undefined ? {} : { exitCode: outcome.exitCode }),
      durationMs: outcome.stoppedAt.getTime() - startedAt.getTime(),
      result: outcome.message,
    };
    if (outcome.ok) this.#options.log.info(facts, "action succeeded");
    else this.#options.log.warn(facts, "action failed");
  }

  #log(fields: LogFields, { stream, line }: LogLine): void {
    const { severity, message, fields: said } = readLogLine(line);
    // The worker's own fields win: an action must not pass for another one.
    this.#options.log[severity]({ ...said, ...fields, stream }, message);
  }
}

type Acknowledged = JournalEntry & { phase: "acknowledged" };
type LogFields = Readonly<Record<string, string>>;

interface Concluding {
  readonly startedAt: Date;
  readonly recorder: ActionRecorder;
  readonly fields: LogFields;
  /** Runs once the end is on record: a worker that dies in it reports the end and does not repeat it. */
  readonly hook?: () => Promise<void>;
}

function hookOf(action: Action, outcome: Outcome) {
  // What never ran, or was cancelled, has not failed in the template's sense.
  if (outcome.ok || outcome.class === "cancelled" || outcome.exitCode === undefined) return undefined;
  const [name, command] = outcome.timedOut
    ? ["on-timeout", action.onTimeout]
    : ["on-failure", action.onFailure];
  return command?.length ? { name, command } : undefined;
}

function endStatus(action: ActionId, outcome: Outcome, startedAt: Date): ActionStatus {
  return {
    action,
    state: stateOf(outcome),
    startedAt,
    stoppedAt: outcome.stoppedAt,
    message: statusMessage(action, outcome),
  };
}

function statusOf({
  action,
  startedAt,
  end,
}: JournalEntry & { phase: "ended" | "acknowledged" }): ActionStatus {
  const { state, message, stoppedAt } = end;
  return { action, state, message, startedAt: new Date(startedAt), stoppedAt: new Date(stoppedAt) };
}

function stateOf(outcome: Outcome): ActionState {
  if (outcome.ok) return "success";
  return outcome.timedOut ? "timeout" : "failed";
}

/** What stands in the workflow: the action's own reason, with its class and exit code when it failed. */
export function statusMessage(action: Pick<ActionId, "name">, outcome: Outcome): string {
  if (outcome.ok) return outcome.message;
  const code = outcome.exitCode === undefined ? "" : `, exit ${outcome.exitCode}`;
  const machine = outcome.result?.machine ? ` ${outcome.result.machine}` : "";
  return oneLine(
    `${action.name}${machine} failed (${outcome.class ?? "internal"}${code}): ${outcome.message}`,
  );
}

function fieldsOf(action: ActionId): LogFields {
  return reportFields({ action });
}

/** For people: how long an action took. */
export function elapsed(outcome: Outcome): string {
  return formatSeconds(outcome.stoppedAt.getTime() - outcome.startedAt.getTime());
}
