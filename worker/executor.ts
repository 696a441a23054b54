import type { Clock } from "../shared/clock.ts";
import type { Connection } from "../shared/contract/connection.ts";
import { oneLine } from "../shared/contract/result.ts";
import { formatSeconds } from "../shared/duration.ts";
import type { Logger } from "../shared/logger.ts";
import type { Action, ActionState, Outcome } from "./action.ts";
import type { MachineLocks } from "./machine-locks.ts";
import { type Reporter, reportFields } from "./reporter.ts";
import { readLogLine } from "./runtime/log-line.ts";
import { failedLaunch, nothingLeft } from "./runtime/outcome.ts";
import type { EndedAction, LogLine, Runtime } from "./runtime/runtime.ts";

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

export interface ExecutorOptions {
  readonly permit: (action: Action) => Permission;
  readonly locate: (action: Action) => Target;
  readonly runtime: Runtime;
  readonly reporter: Reporter;
  readonly locks: MachineLocks;
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

/**
 * Takes one action from permission to acknowledged report:
 * policy, machine, turn at the BMC, RUNNING, credentials, launch, final report, removal.
 */
export class Executor {
  readonly #options: ExecutorOptions;
  /** What actions learned about each machine, for the next one's connection. */
  readonly #hints = new Map<string, unknown>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Resolves to the outcome, or undefined when the action was not run: the server then serves it again. */
  async execute(action: Action, signals: StopSignals): Promise<Outcome | undefined> {
    const { log } = this.#options;
    const permission = this.#options.permit(action);
    const target = permission.allowed ? this.#options.locate(action) : permission;
    if ("reason" in target) {
      log.warn({ ...fieldsOf(action), image: action.image, reason: target.reason }, "action refused");
      return this.#refuse(action, target.reason, signals);
    }
    const release = await this.#turn(target, signals.stop);
    if (!release) return undefined;
    try {
      return await this.#launch(action, target, signals);
    } finally {
      release();
    }
  }

  async #turn(target: Target & { ok: true }, stop: AbortSignal): Promise<(() => void) | undefined> {
    if (target.lockKey === undefined) return () => undefined;
    try {
      return await this.#options.locks.acquire(target.lockKey, stop);
    } catch (thrown) {
      if (stop.aborted) return undefined;
      throw thrown;
    }
  }

  async #launch(
    action: Action,
    target: Target & { ok: true },
    signals: StopSignals,
  ): Promise<Outcome | undefined> {
    const { clock, log, reporter, runtime } = this.#options;
    const fields = { ...fieldsOf(action), ...(target.machine ? { machine: target.machine } : {}) };
    const startedAt = new Date(clock.now());
    const begun = await reporter.running(
      { action, state: "running", startedAt, message: "running" },
      signals.stop,
    );
    if (begun !== "acknowledged") {
      log.warn({ ...fields, delivery: begun }, "action not started: the server did not take its start");
      return undefined;
    }
    log.info({ ...fields, image: action.image, runtime: runtime.name }, "action started");
    const ended = await this.#run(action, target, startedAt, signals.cancel, (line) =>
      this.#log(fields, line),
    );
    const { outcome } = ended;
    if (target.machine && outcome.result?.hint !== undefined)
      this.#hints.set(target.machine, outcome.result.hint);
    const facts = {
      ...fields,
      ...(outcome.class ? { class: outcome.class } : {}),
      ...(outcome.exitCode === undefined ? {} : { exitCode: outcome.exitCode }),
      durationMs: outcome.stoppedAt.getTime() - startedAt.getTime(),
      result: outcome.message,
    };
    if (outcome.ok) log.info(facts, "action succeeded");
    else log.warn(facts, "action failed");
    const delivery = await this.#reportEnd(action, outcome, startedAt, signals.cancel);
    // What is not acknowledged is kept, so that a restarted worker finds it instead of running it again.
    if (delivery !== "unanswered") await this.#remove(ended, fields);
    return outcome;
  }

  async #run(
    action: Action,
    target: Target & { ok: true },
    startedAt: Date,
    cancel: AbortSignal,
    onLog: (line: LogLine) => void,
  ): Promise<EndedAction> {
    const { clock, runtime, defaultTimeoutMs } = this.#options;
    let connection: Connection | undefined;
    try {
      connection = await target.connect?.();
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      return nothingLeft(failedLaunch("usage", reason, startedAt, new Date(clock.now())));
    }
    const hint = target.machine === undefined ? undefined : this.#hints.get(target.machine);
    return runtime.run(
      {
        action,
        ...(connection === undefined
          ? {}
          : { connection: hint === undefined ? connection : { ...connection, hint } }),
        timeoutMs: action.timeoutMs > 0 ? action.timeoutMs : defaultTimeoutMs,
        onLog,
      },
      cancel,
    );
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
    await this.#reportEnd(action, outcome, now, signals.cancel);
    return outcome;
  }

  async #reportEnd(action: Action, outcome: Outcome, startedAt: Date, cancel: AbortSignal) {
    const status = {
      action,
      state: stateOf(outcome),
      startedAt,
      stoppedAt: outcome.stoppedAt,
      message: statusMessage(action, outcome),
    };
    const { reporter } = this.#options;
    if (!cancel.aborted) {
      const delivery = await reporter.final(status, cancel);
      if (delivery !== "unanswered") return delivery;
    }
    return reporter.final(status, AbortSignal.timeout(LAST_WORDS_MS));
  }

  async #remove(ended: EndedAction, fields: Readonly<Record<string, unknown>>): Promise<void> {
    try {
      await ended.remove(AbortSignal.timeout(REMOVE_TIMEOUT_MS));
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      this.#options.log.error({ ...fields, error }, "what is left of the action could not be removed");
    }
  }

  #log(fields: Readonly<Record<string, unknown>>, { stream, line }: LogLine): void {
    const { severity, message, fields: said } = readLogLine(line);
    // The worker's own fields win: an action must not pass for another one.
    this.#options.log[severity]({ ...said, ...fields, stream }, message);
  }
}

function stateOf(outcome: Outcome): ActionState {
  if (outcome.ok) return "success";
  return outcome.timedOut ? "timeout" : "failed";
}

/** What stands in the workflow: the action's own reason, with its class and exit code when it failed. */
export function statusMessage(action: Action, outcome: Outcome): string {
  if (outcome.ok) return outcome.message;
  const code = outcome.exitCode === undefined ? "" : `, exit ${outcome.exitCode}`;
  const machine = outcome.result?.machine ? ` ${outcome.result.machine}` : "";
  return oneLine(
    `${action.name}${machine} failed (${outcome.class ?? "internal"}${code}): ${outcome.message}`,
  );
}

function fieldsOf(action: Action): Readonly<Record<string, string>> {
  return reportFields({ action });
}

/** For people: how long an action took. */
export function elapsed(outcome: Outcome): string {
  return formatSeconds(outcome.stoppedAt.getTime() - outcome.startedAt.getTime());
}
