import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Progress } from "../../../shared/contract/progress.ts";
import { defined } from "../../../shared/defined.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Action, Delivery, LogFields, Outcome } from "../action/action.ts";
import { type Hook, hookFor, hookReport, hooksOf } from "../action/hooks.ts";
import { seenAction } from "../action/observer.ts";
import type { LaunchAccess, Refused, Target } from "../ports/machines.ts";
import { failedAction, failedLaunch } from "../ports/outcome.ts";
import {
  Detached,
  type EndedAction,
  LaunchNotRecorded,
  type LaunchRequest,
  NotLaunched,
} from "../ports/runtime.ts";
import { ActionOutput } from "./action-output.ts";
import type { ActionRun } from "./action-run.ts";
import { adopt } from "./adopt.ts";
import { knownOf, notRecorded } from "./known.ts";
import type { RunServices, StopSignals } from "./services.ts";
import { checkWorkflow } from "./workflow-check.ts";

/** How often an action whose machine is paused is decided anew, because the policy may change, too. */
const DECIDE_AGAIN_MS = 30_000;
/**
 * Time for the start report of an action that has waited for a paused machine. Its Workflow may have been deleted meanwhile,
 * which a tink server answers only after a minute; a poll shows at once what there is to do.
 */
const REPORT_AFTER_PAUSE_MS = 500;

/** One launch of an action's image. */
interface Launch {
  readonly action: Action;
  readonly startedAt: Date;
  readonly fields: LogFields;
  /** Absent for a hook, which runs in any case because its action belonged to this worker. */
  readonly onLaunch?: NonNullable<LaunchRequest["onLaunch"]> | undefined;
}

/**
 * Takes an action that the server serves from its admission to its report. Resolves to the outcome, or to undefined if the
 * action was not run here; the server then serves it again. Each step that cannot be undone is recorded first (`STATES`), so
 * that the next worker can continue after a crash at any point.
 */
export async function start(
  services: RunServices,
  run: ActionRun,
  action: Action,
  signals: StopSignals,
): Promise<Outcome | undefined> {
  return new Start(services, run, action, signals).outcome();
}

/** The steps of `start`, in their order. */
class Start {
  readonly #services: RunServices;
  readonly #run: ActionRun;
  readonly #action: Action;
  readonly #signals: StopSignals;
  /** When the wait for a paused machine began, by the monotonic clock. */
  #pausedSinceMs: number | undefined;
  #isPauseShown = false;

  constructor(services: RunServices, run: ActionRun, action: Action, signals: StopSignals) {
    this.#services = services;
    this.#run = run;
    this.#action = action;
    this.#signals = signals;
  }

  async outcome(): Promise<Outcome | undefined> {
    const run = this.#run;
    const known = await knownOf(this.#services, run, this.#action, this.#signals);
    if (known.kind === "skip") return undefined;
    if (known.kind === "new") return this.#whenInService();
    if (known.kind === "unreadable") {
      // The action is adopted even if it may not run now. Its machine and secrets are then unknown.
      const target = this.#locate();
      run.setTarget(this.#action, target.ok ? target : { connected: true });
      run.resume(run.entry);
    }
    return adopt(this.#services, run, this.#signals, { damage: known.damage });
  }

  /** Decides whether and where the action may run. Waits while its machine is paused, if the policy says so. */
  async #whenInService(): Promise<Outcome | undefined> {
    const { isLeading, observer } = this.#services;
    let isTaken = false;
    let outcome: Outcome | undefined;
    try {
      for (;;) {
        const target = this.#targetNow();
        if (!target.ok) {
          outcome = await this.#refuse(target);
          return outcome;
        }
        const { machine } = target;
        if (!isTaken) observer.action({ kind: "taken", ...this.#run.seen, machine });
        isTaken = true;
        if (target.paused !== undefined) {
          await this.#pause(target.paused, target);
          if (this.#signals.stop.aborted || !isLeading()) return undefined;
          continue;
        }
        const ended = await this.#enqueue(target);
        if (ended === "paused") continue;
        outcome = ended;
        return outcome;
      }
    } finally {
      if (!outcome) observer.action({ kind: "returned", ...this.#run.seen });
    }
  }

  /** Locates the action and its hooks, which must use the same machine. */
  #locate(): Target | Refused {
    const target = this.#locateOne(this.#action);
    if (!target.ok) return target;
    for (const hook of hooksOf(this.#action)) {
      const other = this.#locateOne(hook.action);
      if (!other.ok) return { ok: false, reason: `${hook.name}: ${other.reason}` };
      if (other.lockKey !== target.lockKey) {
        return { ok: false, reason: `${hook.name}: is for another machine than the action` };
      }
    }
    return target;
  }

  #locateOne(action: Action): Target | Refused {
    if (action.unreadable !== undefined) return { ok: false, reason: action.unreadable };
    return this.#services.machines.locate(action);
  }

  /**
   * Where the action may run now, or why it fails. A result with `paused` means that the action waits, for at most its
   * timeout. Afterwards it has its whole timeout to run.
   */
  #targetNow(): Target | Refused {
    const { clock, machines } = this.#services;
    const target = this.#locate();
    if (!target.ok || target.paused === undefined) {
      if (this.#isPauseShown) this.#showPause(undefined);
      return target;
    }
    this.#pausedSinceMs ??= clock.monotonicMs();
    if (machines.whilePaused() === "fail") return { ok: false, class: "state", reason: target.paused };
    const limitMs = this.#pauseLimitMs;
    if (clock.monotonicMs() - this.#pausedSinceMs < limitMs) return target;
    return { ok: false, class: "state", reason: `${target.paused}; waited ${formatSeconds(limitMs)}` };
  }

  /** Waits until the machine is no longer paused, or until the action should be decided anew. */
  async #pause(reason: string, { isPaused, machine }: Target): Promise<void> {
    const { clock, isLeading, log, machines, pauses } = this.#services;
    const limitMs = this.#pauseLimitMs;
    const sinceMs = this.#pausedSinceMs ?? clock.monotonicMs();
    if (!this.#isPauseShown) {
      const fields = { ...this.#run.fields, ...defined({ machine }), reason };
      log.info(fields, "action waiting: machine is paused");
      this.#showPause({ text: reason, limitMs });
    }
    const leftMs = Math.max(0, sinceMs + limitMs - clock.monotonicMs());
    const isOver = () => isPaused?.() !== true || machines.whilePaused() === "fail" || !isLeading();
    const againMs = DECIDE_AGAIN_MS * (0.5 + Math.random());
    await pauses.until(isOver, Math.min(againMs, leftMs), this.#signals.stop);
  }

  #showPause(progress: Progress | undefined): void {
    this.#isPauseShown = progress !== undefined;
    this.#showProgress(progress);
  }

  #showProgress(progress: Progress | undefined): void {
    this.#services.observer.action({ kind: "progress", ...this.#run.seen, progress });
  }

  get #pauseLimitMs(): number {
    const { timeoutMs } = this.#action;
    return timeoutMs > 0 ? timeoutMs : this.#services.defaultTimeoutMs;
  }

  /** Refuses a denied action. It starts and fails, because the server expects both reports. */
  async #refuse({ reason, class: errorClass = "usage" }: Refused): Promise<Outcome | undefined> {
    const { log, observer } = this.#services;
    const run = this.#run;
    log.warn({ ...run.fields, image: this.#action.image, reason }, "action refused");
    run.setTarget(this.#action, { connected: false });
    const { startedAt } = run;
    observer.action({ kind: "refused", ...run.seen, reason });
    if ((await this.#deliverRunning()) !== "acknowledged") return undefined;
    const outcome = failedLaunch(errorClass, reason, startedAt, startedAt);
    await run.deny(outcome, this.#signals.cancel);
    return outcome;
  }

  /** Waits for the machine, the BMC and a slot. Policy and inventory may change meanwhile. */
  #enqueue(target: Target): Promise<Outcome | "paused" | undefined> {
    const { clock, isLeading, log, machines, queue } = this.#services;
    const { image, workflowId } = this.#action;
    let limited: { readonly by: string; readonly sinceMs: number } | undefined;
    const options = {
      actionKey: this.#run.key,
      workflowId,
      limits: machines.limitsOf(target.machine, image),
      onLimited: (by: string) => {
        limited = { by, sinceMs: clock.monotonicMs() };
        const { machine } = target;
        log.info(
          { ...this.#run.fields, ...defined({ machine }), reason: by },
          "action waiting: limit reached",
        );
        this.#showProgress({ text: `waiting for ${by}` });
      },
    };
    const begin = async () => {
      if (limited) {
        const waited = formatSeconds(clock.monotonicMs() - limited.sinceMs);
        this.#run.hasWaited(`${waited} of waiting for ${limited.by}`);
        this.#showProgress(undefined);
      }
      if (!isLeading()) return undefined;
      const now = this.#targetNow();
      if (!now.ok) return this.#refuse(now);
      if (now.paused !== undefined) return "paused";
      // Another BMC needs another lock: the server serves the action again.
      return now.lockKey === target.lockKey ? this.#runToEnd(now) : undefined;
    };
    return queue.enqueue(target, this.#signals.stop, begin, options);
  }

  /**
   * Records, reports and launches the action. Resolves to undefined if nothing was launched, or if another worker adopts the
   * action.
   */
  async #runToEnd(target: Target): Promise<Outcome | undefined> {
    const { log, runtime } = this.#services;
    const run = this.#run;
    const { stop } = this.#signals;
    run.setTarget(this.#action, target);
    let ended: EndedAction;
    let cancel: AbortSignal;
    try {
      await this.#removeEarlierRun();
      await run.begin();
      // Writing to the disk may have taken minutes.
      this.#stillLeading();
      if (!(await this.#reportRunning())) return undefined;
      this.#observeStart();
      const check = checkWorkflow(
        { ...this.#services, source: run.source },
        run.running,
        this.#signals.cancel,
      );
      cancel = check.cancel;
      ended = await this.#launchAction(target, cancel).finally(check.end);
    } catch (thrown) {
      if (thrown instanceof Detached) {
        log.info({ ...run.fields, runtime: runtime.name }, "detached from action");
      } else if (thrown instanceof NotLaunched) {
        log.info({ ...run.fields, reason: thrown.message }, "action not started");
        await run.forget();
        if (thrown instanceof LaunchNotRecorded) await notRecorded(this.#services, thrown, run.fields, stop);
      } else throw thrown;
      return undefined;
    }
    const hook = hookFor(this.#action, ended.outcome);
    return run.conclude(ended, cancel, hook && (() => this.#runHook(hook, target, cancel)));
  }

  /**
   * Removes the container or Job of an earlier run with the same ID before the start of this run is reported. From then on,
   * whatever exists belongs to this run and is adopted even if the journal is lost. Throws `NotLaunched` if it cannot be
   * removed.
   */
  async #removeEarlierRun(): Promise<void> {
    const { earlierRuns, log, runtime } = this.#services;
    const { ownerOfLaunch } = this.#action.returningIds ?? {};
    if (!ownerOfLaunch) return;
    const { stop } = this.#signals;
    let reason: string;
    try {
      const earlier = await runtime.earlierRun?.(this.#action, stop);
      if (!earlier) return;
      const ageMs = Math.max(earlier.ageMs, earlierRuns.seenForMs(this.#action, earlier));
      const owner = ownerOfLaunch({ ...earlier, ageMs });
      if (owner === "this-run") return;
      if (owner === "earlier-run") return await earlier.remove(stop);
      reason = earlier.hasEnded ? "it has just ended" : "it has not ended";
    } catch (thrown) {
      reason = textOf(thrown);
    }
    log.info({ ...this.#run.fields, reason }, "action not started: earlier run with its ID remains");
    throw new NotLaunched("an earlier run with its ID remains");
  }

  /** Resolves to whether the server has acknowledged the start. */
  async #reportRunning(): Promise<boolean> {
    const { log } = this.#services;
    const run = this.#run;
    const { fields, source } = run;
    const delivery = await this.#deliverRunning();
    if (delivery === "acknowledged") return true;
    const isFirst = !source.isUnavailable?.(this.#action);
    logOutage(log, isFirst, { ...fields, delivery }, "action not started: start report failed");
    await run.forget();
    return false;
  }

  #deliverRunning(): Promise<Delivery> {
    const { running, source } = this.#run;
    const isQuick = this.#pausedSinceMs !== undefined && !source.deletions?.seesDeletion?.(this.#action);
    const withinMs = isQuick ? REPORT_AFTER_PAUSE_MS : undefined;
    return this.#services.reports.running(running, source, this.#signals.stop, withinMs);
  }

  #observeStart(): void {
    const { log, observer, runtime } = this.#services;
    const run = this.#run;
    const { image } = this.#action;
    log.info({ ...run.fields, image, runtime: runtime.name }, "action started");
    const { machine, timeoutMs } = run.entry;
    const about = { startedAt: run.startedAt, timeoutMs, machine };
    const started = { kind: "started", action: run.seen.action, runtime: runtime.name } as const;
    observer.action({ ...started, ...about, adopted: false });
  }

  async #launchAction(target: Target, cancel: AbortSignal): Promise<EndedAction> {
    const { throttle } = this.#services;
    const run = this.#run;
    const { fields, startedAt } = run;
    await throttle.next();
    const launch: Launch = {
      action: this.#action,
      startedAt,
      fields,
      onLaunch: async (handle) => {
        await run.launched(handle);
        // The engine may have taken minutes to pull the image, and the disk to write the record.
        this.#confirm(target);
      },
    };
    return this.#launch(launch, target, cancel);
  }

  /**
   * Runs a hook between the action's end and its report, like the worker of tink 0.12: no other action begins at the machine
   * before the report. The hook has the same timeout as the action; in tink 0.12 it has none. Resolves to the hook's part of
   * the status message.
   */
  async #runHook(hook: Hook, target: Target, cancel: AbortSignal): Promise<string> {
    const { clock, log } = this.#services;
    const run = this.#run;
    const fields = { ...run.fields, hook: hook.name };
    log.info(fields, "hook started");
    const about = { action: hook.action, startedAt: new Date(clock.now()), fields };
    const ended = await this.#launch(about, target, cancel);
    const { ok, message } = ended.outcome;
    log[ok ? "info" : "warn"]({ ...fields, result: message }, ok ? "hook succeeded" : "hook failed");
    await run.remove((signal) => ended.remove(signal), fields);
    return hookReport(hook, ended.outcome);
  }

  /** Reads the credentials, launches the image and follows it to its end. Throws `NotLaunched` and `Detached`. */
  async #launch(
    { action, fields, onLaunch, startedAt }: Launch,
    target: Target,
    cancel: AbortSignal,
  ): Promise<EndedAction> {
    const { clock, log, observer, runtime, traceEnvironment } = this.#services;
    const { timeoutMs } = this.#run.entry;
    let read: LaunchAccess;
    if (onLaunch) this.#confirm(target);
    try {
      // The action that the hook belongs to began before its machine was paused.
      const whilePaused = onLaunch ? undefined : (true as const);
      const reading = { timeoutMs, secretInputs: action.secrets?.inputs, whilePaused };
      read = await target.readAccess(reading, cancel);
    } catch (thrown) {
      const { class: errorClass, message } = BmcError.from(thrown);
      return failedAction(errorClass, message, startedAt, new Date(clock.now()));
    }
    const { redact, learn, ...access } = read;
    // Reading the credentials may have taken minutes.
    if (onLaunch) this.#confirm(target);
    const seen = seenAction(action);
    const output = new ActionOutput({ action: seen, fields, redact, clock, log, observer });
    const request = {
      action,
      timeoutMs,
      environment: traceEnvironment(seen),
      ...access,
      terms: target.terms,
      lockKey: target.lockKey,
      onLaunch,
      host: target.host?.(),
      ...output.terms,
    };
    const ended = await runtime.run(request, cancel);
    learn(ended.outcome);
    return { ...ended, outcome: output.complete(ended.outcome) };
  }

  /**
   * Decides again at the last moment: before a password is read, and before the action can act. Policy, inventory, pause and
   * leader may have changed since. Throws `NotLaunched`; the server then serves the action again, and it is admitted or
   * refused anew.
   */
  #confirm(before: Target): void {
    this.#stillLeading();
    const now = this.#locate();
    if (!now.ok) throw new NotLaunched(now.reason);
    if (now.paused !== undefined) throw new NotLaunched(now.paused);
    if (now.lockKey !== before.lockKey) {
      throw new NotLaunched("its machine's BMC has another address now");
    }
  }

  /** Checks the lead again, because credentials, engine and disk may each take minutes. Throws `NotLaunched`. */
  #stillLeading(): void {
    if (!this.#services.isLeading()) throw new NotLaunched("another worker may lead");
  }
}
