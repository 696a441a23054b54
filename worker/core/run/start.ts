import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Progress } from "../../../shared/contract/progress.ts";
import { defined } from "../../../shared/defined.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Action, LogFields, Outcome } from "../action/action.ts";
import { type Hook, hookFor, hookReport, hooksOf } from "../action/hooks.ts";
import { seenAction } from "../action/observer.ts";
import type { LaunchAccess, Place, Refused } from "../ports/machines.ts";
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

/** How often the policy is asked for an action whose machine is paused: inventory and policy may change. */
const LOOK_MS = 500;

/** One launch of an action's image. */
interface Launch {
  readonly action: Action;
  readonly startedAt: Date;
  readonly fields: LogFields;
  /** Absent for a hook: it runs in any case, because its action was this worker's. */
  readonly onLaunch?: NonNullable<LaunchRequest["onLaunch"]>;
}

/**
 * Takes an action that the server serves from its admission to its report. Resolves to the outcome, or to undefined if the action was
 * not run here: the server then serves it again. Each step that cannot be undone is on record first (`STATES`), so that the next
 * worker continues after a crash at any point.
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
  /** Since when its machine is paused, by the monotonic clock. */
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
      // It is adopted even if it may not run now. Its machine is then unknown, and so are its secrets.
      const place = this.#locate();
      run.place(this.#action, place.ok ? place : { connected: true });
      run.resume(run.entry);
    }
    return adopt(this.#services, run, this.#signals, defined({ damage: known.damage }));
  }

  /** May it run, and where? Waits while its machine is paused, if the policy says so. */
  async #whenInService(): Promise<Outcome | undefined> {
    const { isLeading, observer } = this.#services;
    let isTaken = false;
    let outcome: Outcome | undefined;
    try {
      for (;;) {
        const place = this.#placeNow();
        if (!place.ok) {
          outcome = await this.#refuse(place);
          return outcome;
        }
        const { machine } = place;
        if (!isTaken) observer.action({ kind: "taken", ...this.#run.seen, ...defined({ machine }) });
        isTaken = true;
        if (place.paused !== undefined) {
          await this.#pause(place.paused, place);
          if (this.#signals.stop.aborted || !isLeading()) return undefined;
          continue;
        }
        const ended = await this.#inTurn(place);
        if (ended === "paused") continue;
        outcome = ended;
        return outcome;
      }
    } finally {
      if (!outcome) observer.action({ kind: "returned", ...this.#run.seen });
    }
  }

  /** Policy and inventory say where the action and each of its hooks may run. */
  #locate(): Place | Refused {
    const place = this.#locateOne(this.#action);
    if (!place.ok) return place;
    for (const hook of hooksOf(this.#action)) {
      const other = this.#locateOne(hook.action);
      if (!other.ok) return { ok: false, reason: `${hook.name}: ${other.reason}` };
      if (other.lockKey !== place.lockKey) {
        return { ok: false, reason: `${hook.name}: is for another machine than the action` };
      }
    }
    return place;
  }

  #locateOne(action: Action): Place | Refused {
    if (action.unreadable !== undefined) return { ok: false, reason: action.unreadable };
    return this.#services.machines.locate(action);
  }

  /**
   * Where the action may run now, or why it fails. With `paused`, it waits, for at most its timeout; afterwards it has its whole timeout
   * to run.
   */
  #placeNow(): Place | Refused {
    const { clock, machines } = this.#services;
    const place = this.#locate();
    if (!place.ok || place.paused === undefined) {
      if (this.#isPauseShown) this.#showPause(undefined);
      return place;
    }
    this.#pausedSinceMs ??= clock.monotonicMs();
    if (machines.whilePaused() === "fail") return { ok: false, class: "state", reason: place.paused };
    const limitMs = this.#pauseLimitMs;
    if (clock.monotonicMs() - this.#pausedSinceMs < limitMs) return place;
    return { ok: false, class: "state", reason: `${place.paused}; waited ${formatSeconds(limitMs)}` };
  }

  /** Waits a moment. */
  async #pause(reason: string, { machine }: Place): Promise<void> {
    const { clock, log } = this.#services;
    const limitMs = this.#pauseLimitMs;
    const sinceMs = this.#pausedSinceMs ?? clock.monotonicMs();
    if (!this.#isPauseShown) {
      const fields = { ...this.#run.fields, ...defined({ machine }), reason };
      log.info(fields, "action waiting: machine is paused");
      this.#showPause({ text: reason, limitMs });
    }
    const leftMs = Math.max(0, sinceMs + limitMs - clock.monotonicMs());
    await clock.sleep(Math.min(LOOK_MS, leftMs), this.#signals.stop).catch(() => undefined);
  }

  #showPause(progress: Progress | undefined): void {
    this.#isPauseShown = progress !== undefined;
    this.#services.observer.action({ kind: "progress", ...this.#run.seen, progress });
  }

  get #pauseLimitMs(): number {
    const { timeoutMs } = this.#action;
    return timeoutMs > 0 ? timeoutMs : this.#services.defaultTimeoutMs;
  }

  /** A denied action starts and fails, as the server expects of every action. */
  async #refuse({ reason, class: errorClass = "usage" }: Refused): Promise<Outcome | undefined> {
    const { log, observer, reports } = this.#services;
    const run = this.#run;
    log.warn({ ...run.fields, image: this.#action.image, reason }, "action refused");
    run.place(this.#action, { connected: false });
    const { running, startedAt } = run;
    observer.action({ kind: "refused", ...run.seen, reason });
    const delivery = await reports.running(running, run.source, this.#signals.stop);
    if (delivery !== "acknowledged") return undefined;
    const outcome = failedLaunch(errorClass, reason, startedAt, startedAt);
    await run.deny(outcome, this.#signals.cancel);
    return outcome;
  }

  /** Waits for its turn. Policy and inventory may change meanwhile. */
  #inTurn(place: Place): Promise<Outcome | "paused" | undefined> {
    const { isLeading, turns } = this.#services;
    const purpose = { actionKey: this.#run.key, workflowId: this.#action.workflowId };
    const begin = async () => {
      if (!isLeading()) return undefined;
      const now = this.#placeNow();
      if (!now.ok) return this.#refuse(now);
      if (now.paused !== undefined) return "paused";
      // Another BMC needs another turn: the server serves the action again.
      return now.lockKey === place.lockKey ? this.#toItsEnd(now) : undefined;
    };
    return turns.take(place, this.#signals.stop, begin, purpose);
  }

  /** Records, reports and launches it. Resolves to undefined if nothing was launched, or if another worker adopts the action. */
  async #toItsEnd(place: Place): Promise<Outcome | undefined> {
    const { log, runtime } = this.#services;
    const run = this.#run;
    const { stop } = this.#signals;
    run.place(this.#action, place);
    let ended: EndedAction;
    let cancel: AbortSignal;
    try {
      await this.#removeEarlierRun();
      await run.begin();
      // The disk may have taken minutes.
      this.#stillLeading();
      if (!(await this.#reportRunning())) return undefined;
      this.#observeStart();
      const check = checkWorkflow(
        { ...this.#services, source: run.source },
        run.running,
        this.#signals.cancel,
      );
      cancel = check.cancel;
      ended = await this.#launchAction(place, cancel).finally(check.end);
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
    return run.conclude(ended, cancel, hook && (() => this.#runHook(hook, place, cancel)));
  }

  /**
   * Removes what an earlier run under the same ID left, before the server has a start of this one: whatever exists once it has one
   * belongs to this run, and is adopted even if the journal is lost. Throws `NotLaunched` if it cannot.
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

  /** Resolves to whether the server has its start. */
  async #reportRunning(): Promise<boolean> {
    const { log, reports } = this.#services;
    const run = this.#run;
    const { fields, running, source } = run;
    const delivery = await reports.running(running, source, this.#signals.stop);
    if (delivery === "acknowledged") return true;
    const isFirst = !source.isUnavailable?.(this.#action);
    logOutage(log, isFirst, { ...fields, delivery }, "action not started: start report failed");
    await run.forget();
    return false;
  }

  #observeStart(): void {
    const { log, observer, runtime } = this.#services;
    const run = this.#run;
    const { image } = this.#action;
    log.info({ ...run.fields, image, runtime: runtime.name }, "action started");
    const { machine, timeoutMs } = run.entry;
    const about = { startedAt: run.startedAt, timeoutMs, ...defined({ machine }) };
    const started = { kind: "started", action: run.seen.action, runtime: runtime.name } as const;
    observer.action({ ...started, ...about, adopted: false });
  }

  async #launchAction(place: Place, cancel: AbortSignal): Promise<EndedAction> {
    const { pace } = this.#services;
    const run = this.#run;
    const { fields, startedAt } = run;
    await pace.next();
    const launch: Launch = {
      ...{ action: this.#action, startedAt, fields },
      onLaunch: async (handle) => {
        await run.launched(handle);
        // The engine may have taken minutes for the image, the disk for the record.
        this.#confirm(place);
      },
    };
    return this.#launch(launch, place, cancel);
  }

  /**
   * Runs a hook between the action's end and its report, as the worker of tink 0.12 does: before the report, no other action
   * begins at the machine. A hook has as much time as the action had; in tink 0.12 it has no limit. Resolves to the hook's part
   * of the status message.
   */
  async #runHook(hook: Hook, place: Place, cancel: AbortSignal): Promise<string> {
    const { clock, log } = this.#services;
    const run = this.#run;
    const fields = { ...run.fields, hook: hook.name };
    log.info(fields, "hook started");
    const about = { action: hook.action, startedAt: new Date(clock.now()), fields };
    const ended = await this.#launch(about, place, cancel);
    const { ok, message } = ended.outcome;
    log[ok ? "info" : "warn"]({ ...fields, result: message }, ok ? "hook succeeded" : "hook failed");
    await run.remove((signal) => ended.remove(signal), fields);
    return hookReport(hook, ended.outcome);
  }

  /** Reads the credentials, launches the image and follows it to its end. Throws `NotLaunched` and `Detached`. */
  async #launch(
    { action, fields, onLaunch, startedAt }: Launch,
    place: Place,
    cancel: AbortSignal,
  ): Promise<EndedAction> {
    const { clock, log, observer, runtime, traceEnvironment } = this.#services;
    const { timeoutMs } = this.#run.entry;
    let read: LaunchAccess;
    if (onLaunch) this.#confirm(place);
    try {
      // The action of a hook began before its machine was paused.
      const whilePaused = onLaunch ? undefined : (true as const);
      const reading = { timeoutMs, ...defined({ secretInputs: action.secrets?.inputs, whilePaused }) };
      read = await place.readAccess(reading, cancel);
    } catch (thrown) {
      const { class: errorClass, message } = BmcError.from(thrown);
      return failedAction(errorClass, message, startedAt, new Date(clock.now()));
    }
    const { redact, learn, ...access } = read;
    // Reading them may have taken minutes.
    if (onLaunch) this.#confirm(place);
    const seen = seenAction(action);
    const output = new ActionOutput({ action: seen, fields, redact, clock, log, observer });
    const request = {
      ...{ action, timeoutMs, environment: traceEnvironment(seen), ...access },
      ...defined({ terms: place.terms, lockKey: place.lockKey, onLaunch, host: place.host?.() }),
      ...output.terms,
    };
    const ended = await runtime.run(request, cancel);
    learn(ended.outcome);
    return { ...ended, outcome: output.complete(ended.outcome) };
  }

  /**
   * Decides again, at the last moment before a password is read and before the action can act: policy, inventory, pause and leader may
   * have changed since. Throws `NotLaunched`; the server then serves the action again, and it is admitted or refused anew.
   */
  #confirm(before: Place): void {
    this.#stillLeading();
    const now = this.#locate();
    if (!now.ok) throw new NotLaunched(now.reason);
    if (now.paused !== undefined) throw new NotLaunched(now.paused);
    if (now.lockKey !== before.lockKey) {
      throw new NotLaunched("its machine's BMC has another address now");
    }
  }

  /** Credentials, engine and disk may each take minutes. Throws `NotLaunched`. */
  #stillLeading(): void {
    if (!this.#services.isLeading()) throw new NotLaunched("another worker may lead");
  }
}
