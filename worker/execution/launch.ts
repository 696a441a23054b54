import { BmcError } from "../../shared/contract/bmc-error.ts";
import { defined } from "../../shared/defined.ts";
import { logOutage } from "../../shared/log-outage.ts";
import { textOf } from "../../shared/text-of.ts";
import { type Action, fieldsOf, type LogFields, type Outcome } from "../action/action.ts";
import { type Hook, hookFor, hookReport } from "../action/hooks.ts";
import { type Observer, type SeenAction, seenAction } from "../action/observer.ts";
import { failedAction } from "../runtime/outcome.ts";
import {
  Detached,
  type EndedAction,
  type LaunchHandle,
  LaunchNotRecorded,
  type LaunchRequest,
  NotLaunched,
  type Runtime,
} from "../runtime/runtime.ts";
import { ActionOutput } from "./action-output.ts";
import { ActionRecorder, newEntry, notRecorded, type RecorderOptions } from "./action-recorder.ts";
import { type AllowedTarget, STALE_AT_MOST_MS } from "./admit.ts";
import type { Conclusion } from "./conclude.ts";
import { type CredentialsOptions, type LaunchCredentials, readCredentials } from "./credentials.ts";
import { LaunchPace } from "./launch-pace.ts";
import type { Reporter } from "./report.ts";
import type { StopSignals } from "./stop-signals.ts";
import type { Checking, WorkflowCheck } from "./workflow-check.ts";

/** Variables that join an action to its trace. */
export type TraceEnvironment = (action: SeenAction) => Readonly<Record<string, string>>;

export interface LauncherOptions extends CredentialsOptions {
  readonly runtime: Runtime;
  readonly reporter: Reporter;
  readonly workflowCheck: WorkflowCheck;
  readonly conclusion: Conclusion;
  readonly recording: RecorderOptions;
  /** Whether this worker leads, if only one of several may start anything. Asked right before each start. */
  readonly isLeading: () => boolean;
  readonly traceEnvironment: TraceEnvironment;
  readonly observer: Pick<Observer, "action" | "spans">;
}

/** One run of an action's image: of the action itself, with `onLaunch`, or of a hook. */
interface Run extends Pick<LaunchRequest, "onLaunch" | "timeoutMs"> {
  readonly startedAt: Date;
  readonly fields: LogFields;
}

/** Runs an action that has its turn, from RUNNING to its end. */
export class Launcher {
  readonly #options: LauncherOptions;
  readonly #pace = new LaunchPace();

  constructor(options: LauncherOptions) {
    this.#options = options;
  }

  /** Resolves to undefined if nothing was launched, or if another worker adopts the action. */
  async launch(action: Action, target: AllowedTarget, signals: StopSignals): Promise<Outcome | undefined> {
    const { conclusion, hints, observer, recording, reporter, runtime } = this.#options;
    const { log } = recording;
    const about = defined({ machine: target.machine });
    const fields = fieldsOf(action, target.machine);
    const entry = newEntry(recording, action, target);
    const { timeoutMs } = entry;
    const startedAt = new Date(entry.startedAt);
    let recorder: ActionRecorder | undefined;
    let ended: EndedAction;
    let checking: Checking | undefined;
    try {
      await this.#removeEarlierRun(action, fields, signals.stop);
      const begun = await ActionRecorder.begin(recording, entry);
      recorder = begun;
      this.#stillLeading();
      const status = { action, ...about, state: "running", startedAt, message: "running" } as const;
      const delivery = await reporter.running(status, signals.stop);
      if (delivery !== "acknowledged") {
        const isFirst = !reporter.isUnavailable(action);
        logOutage(log, isFirst, { ...fields, delivery }, "action not started: start report failed");
        await recorder.forget();
        return undefined;
      }
      log.info({ ...fields, image: action.image, runtime: runtime.name }, "action started");
      const started = { kind: "started", startedAt, timeoutMs, adopted: false } as const;
      observer.action({ ...started, action: seenAction(action), runtime: runtime.name, ...about });
      await this.#pace.next();
      const onLaunch = async (handle: LaunchHandle) => {
        await begun.launched(handle);
        this.#stillLeading();
      };
      const run = { startedAt, timeoutMs, fields, onLaunch };
      checking = this.#options.workflowCheck.begin(status, signals.cancel);
      ended = await this.#run(action, target, run, checking.cancel);
    } catch (thrown) {
      if (thrown instanceof Detached) {
        log.info({ ...fields, runtime: runtime.name }, "detached from action");
      } else if (thrown instanceof NotLaunched) {
        await recorder?.forget();
        if (thrown instanceof LaunchNotRecorded) await notRecorded(recording, thrown, fields, signals.stop);
      } else throw thrown;
      return undefined;
    } finally {
      checking?.end();
    }
    const { cancel } = checking;
    // Without a connection, what an image says about a BMC is not from the BMC.
    if (target.connect) hints.learn(target.machine, ended.outcome.result?.hint);
    const hook = hookFor(action, ended.outcome);
    const after = hook && (() => this.#runHook(hook, target, { timeoutMs, fields }, cancel));
    const concluding = { startedAt, recorder, fields, ...about, ...defined({ after }) };
    return conclusion.conclude(action, ended, concluding, cancel);
  }

  /**
   * Removes what an earlier run under the same ID left, before the server has a start of this one: whatever exists once it has one belongs
   * to this run, and is adopted even if the journal is lost. Throws `NotLaunched` if it cannot.
   */
  async #removeEarlierRun(action: Action, fields: LogFields, stop: AbortSignal): Promise<void> {
    if (!action.idMayReturn || action.begun) return;
    const { recording, runtime } = this.#options;
    let reason: string;
    try {
      const earlier = await runtime.earlierRun?.(action, stop);
      if (!earlier) return;
      const isSettled = earlier.hasEnded && earlier.ageMs >= STALE_AT_MOST_MS;
      if (isSettled) return await earlier.remove(stop);
      // The server may have its start, and not show it yet.
      reason = earlier.hasEnded ? "it has just ended" : "it has not ended";
    } catch (thrown) {
      reason = textOf(thrown);
    }
    recording.log.info({ ...fields, reason }, "action not started: earlier run with its ID remains");
    throw new NotLaunched("an earlier run with its ID remains");
  }

  /** Reads the credentials and runs the image to its end. */
  async #run(action: Action, target: AllowedTarget, run: Run, cancel: AbortSignal): Promise<EndedAction> {
    const { observer, recording, runtime, traceEnvironment } = this.#options;
    const { clock, log } = recording;
    const { fields, onLaunch, startedAt, timeoutMs } = run;
    let credentials: LaunchCredentials;
    try {
      const reading = { timeoutMs, ...defined({ secretInputs: action.secrets?.inputs }) };
      credentials = await readCredentials(this.#options, target, reading, cancel);
    } catch (thrown) {
      const { class: errorClass, message } = BmcError.from(thrown);
      return failedAction(errorClass, message, startedAt, new Date(clock.now()));
    }
    const { redact, learn, ...access } = credentials;
    // A hook runs in any case: its action was this worker's.
    if (onLaunch) this.#stillLeading();
    const seen = seenAction(action);
    const output = new ActionOutput({ action: seen, fields, redact, clock, log, observer });
    const request = {
      action,
      timeoutMs,
      environment: traceEnvironment(seen),
      ...access,
      ...defined({ terms: target.terms, lockKey: target.lockKey, onLaunch, host: target.host?.() }),
      ...output.terms,
    };
    const ended = await runtime.run(request, cancel);
    learn(ended.outcome);
    return { ...ended, outcome: output.complete(ended.outcome) };
  }

  /** Credentials, engine and disk may each take minutes. Throws `NotLaunched`. */
  #stillLeading(): void {
    if (!this.#options.isLeading()) throw new NotLaunched("another worker may lead");
  }

  /**
   * Runs a hook between the action's end and its report, as the worker of tink 0.12 does: before the report, no other action
   * begins at the machine. A hook has as much time as the action had; in tink 0.12 it has no limit. Resolves to the hook's part
   * of the status message.
   */
  async #runHook(
    hook: Hook,
    target: AllowedTarget,
    { timeoutMs, fields: actionFields }: Pick<Run, "timeoutMs" | "fields">,
    cancel: AbortSignal,
  ): Promise<string> {
    const { conclusion, recording } = this.#options;
    const { clock, log } = recording;
    const fields = { ...actionFields, hook: hook.name };
    log.info(fields, "hook started");
    const startedAt = new Date(clock.now());
    const ended = await this.#run(hook.action, target, { timeoutMs, fields, startedAt }, cancel);
    const { ok, message } = ended.outcome;
    log[ok ? "info" : "warn"]({ ...fields, result: message }, ok ? "hook succeeded" : "hook failed");
    await conclusion.remove(ended, fields);
    return hookReport(hook, ended.outcome);
  }
}
