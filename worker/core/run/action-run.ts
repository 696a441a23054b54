import { defined } from "../../../shared/defined.ts";
import { textOf } from "../../../shared/text-of.ts";
import {
  type Action,
  actionKey,
  type Delivery,
  type EndStatus,
  endStatus,
  fieldsOf,
  type ImageAction,
  type LogFields,
  type Outcome,
  type RunningStatus,
} from "../action/action.ts";
import { bootTimeIn } from "../action/boot-time.ts";
import { type EntryFacts, entryIn, isUnreported, type JournalEntry, statusOf } from "../action/entry.ts";
import { type SeenAction, seenAction } from "../action/observer.ts";
import { type ActionEvent, type ActionState, STATES } from "../action/states.ts";
import type { Target } from "../ports/machines.ts";
import { type EndedAction, type LaunchHandle, LaunchNotRecorded, type Need } from "../ports/runtime.ts";
import type { Source } from "../ports/source.ts";
import type { PendingReport } from "../reports/report-queue.ts";
import type { RunServices, StopSignals } from "./services.ts";

/** Removes the container or process of a launch. */
export type Remove = EndedAction["remove"];

const REMOVE_TIMEOUT_MS = 30_000;
const removeNothing: Remove = async () => undefined;

/**
 * One action of the worker from its admission until its report is settled: its state, journal entry and report, and what is
 * left to remove. `STATES` says what must be recorded before each step and what follows if that fails. After the end, the
 * object keeps only what is recorded, because thousands of actions may wait for their report for days.
 */
export class ActionRun {
  readonly key: string;
  readonly source: Source;
  /** Set while a lane or the adoption works on the action. Resolves to undefined if it was not run. */
  work: Promise<Outcome | undefined> | undefined;
  readonly #services: RunServices;
  readonly #action: SeenAction;
  #state: ActionState = "admitted";
  /** Absent until the machine is known. */
  #entry: JournalEntry | undefined;
  #isOnRecord = false;
  #report: PendingReport | undefined;
  #isEndOfEarlierWorker = false;

  constructor(services: RunServices, action: ImageAction) {
    this.#services = services;
    this.#action = seenAction(action);
    this.key = this.#action.key;
    this.source = services.sourceOf(action.agentId);
  }

  /** Creates the run of an action that an earlier worker left in the journal. */
  static left(services: RunServices, entry: JournalEntry): ActionRun {
    const run = new ActionRun(services, entry.action);
    run.resume(entry);
    run.#isEndOfEarlierWorker = isUnreported(entry);
    return run;
  }

  /** The action and the current time, for an event. */
  get seen(): { readonly action: SeenAction; readonly at: Date } {
    return { action: this.#action, at: new Date(this.#services.clock.now()) };
  }

  get entry(): JournalEntry {
    if (!this.#entry) throw new Error(`it is not known where ${this.#action.name} acts`);
    return this.#entry;
  }

  /** The fields of every log line about the action. */
  get fields(): LogFields {
    return fieldsOf(this.#action, this.#entry?.machine);
  }

  get startedAt(): Date {
    return new Date(this.entry.startedAt);
  }

  get running(): RunningStatus {
    const { action, machine } = this.entry;
    return {
      action,
      machine,
      state: "running",
      startedAt: this.startedAt,
      message: this.#waited === undefined ? "running" : `running, after ${this.#waited}`,
    };
  }

  /** The pending report of the end. */
  get report(): PendingReport | undefined {
    return this.#report;
  }

  /** Whether the container or process still runs, or is needed to know how the action ended. */
  get need(): Need {
    return this.#isEndOfEarlierWorker ? "once-ended" : true;
  }

  /** Combines the worker's signals with that of the action's source. */
  signals({ stop, cancel }: StopSignals): StopSignals {
    const unwanted = this.source.deletions?.cancelOf(this.#action);
    if (!unwanted) return { stop, cancel };
    return { stop: AbortSignal.any([stop, unwanted]), cancel: AbortSignal.any([cancel, unwanted]) };
  }

  #waited: string | undefined;

  /** Continues from the journal entry. */
  resume(entry: JournalEntry): void {
    this.#entry = entry;
    this.#state = entry.phase;
    this.#isOnRecord = true;
  }

  /** Says in the start report what the action has waited for. */
  hasWaited(text: string): void {
    this.#waited = text;
  }

  /** Sets the target and the start time. Nothing is recorded yet. */
  setTarget(action: Action, target: RecordedTarget): void {
    this.#entry = newEntry(this.#services, action, target);
  }

  /** Records that the action is about to be launched. Rejects with `LaunchNotRecorded`. */
  async begin(): Promise<void> {
    await this.#move("begin");
  }

  /**
   * Records that the container or process exists. The action may act once this has resolved. Rejects with
   * `LaunchNotRecorded`.
   */
  async launched(handle: LaunchHandle): Promise<void> {
    await this.#move("launch", { handle });
  }

  /** Removes the journal entry of an action that did nothing; the server serves it again. */
  async forget(): Promise<void> {
    if (STATES[this.#state].on.forget && this.#isOnRecord)
      await this.#try(this.#services.journal.remove(this.key));
  }

  /** Reopens a settled end, because the server serves the action again as if it had not received the report. */
  async reopen(): Promise<void> {
    await this.#move("serve");
  }

  /** Denies the action before its launch and reports the end. */
  async deny(outcome: Outcome, cancel: AbortSignal): Promise<void> {
    this.#observeEnd(outcome);
    await this.#end("deny", endStatus(this.entry.action, outcome, this.startedAt));
    await this.tell(removeNothing, cancel);
  }

  /**
   * Records the end, reports it and removes the container or process, in this order. The hook runs once the end is recorded:
   * if the worker dies during the hook, the next worker reports the end and does not repeat the hook. The hook resolves to
   * text for the status message.
   */
  async conclude(ended: EndedAction, cancel: AbortSignal, hook?: () => Promise<string>): Promise<Outcome> {
    const outcome = this.#onThisClock(ended.outcome);
    this.#logEnd(outcome);
    this.#observeEnd(outcome);
    await this.#end("end", this.#statusOf(outcome));
    if (hook) {
      const message = `${outcome.message}; ${await hook()}`;
      await this.#end("end", this.#statusOf({ ...outcome, message }));
    }
    await this.tell((signal) => ended.remove(signal), cancel);
    return outcome;
  }

  /** Records an end without reporting it. It is reported if the server serves the action again. */
  async withhold({ outcome }: EndedAction): Promise<void> {
    await this.#end("end", this.#statusOf(this.#onThisClock(outcome)));
  }

  /**
   * Reports the recorded end and then removes the action. Resolves when that is done, when the server has rejected the
   * report, or after a few seconds; the rest continues in the background.
   */
  async tell(remove: Remove, cancel: AbortSignal): Promise<void> {
    const { entry } = this;
    if (!isUnreported(entry)) return;
    const { reports } = this.#services;
    const status = statusOf(entry);
    this.#report = reports.deliver({
      status,
      sink: this.source,
      cancel,
      onRejected: async (code) => {
        await this.rejected(code);
        this.#observeDelivery(status, "rejected");
      },
      onFinished: async (delivery) => {
        this.#observeDelivery(status, delivery);
        // The action is kept until its end is settled, so that the next worker finds it instead of running it again.
        if (delivery !== "unanswered") await this.#removeOnceSettled(delivery, remove);
        this.#report = undefined;
      },
    });
    await reports.laneFree(this.#report);
  }

  async rejected(code: string): Promise<void> {
    await this.#move("reject", { code });
  }

  /**
   * Records that the report is no longer repeated. Resolves to true once that is recorded. Only then may the container or
   * process be removed; otherwise the next worker would count the action as lost.
   */
  async settled(delivery: "acknowledged" | "dropped"): Promise<boolean> {
    if (this.#state === delivery) return true;
    return this.#move(delivery === "acknowledged" ? "acknowledge" : "drop");
  }

  async remove(remove: Remove, fields = this.fields): Promise<void> {
    try {
      await remove(AbortSignal.timeout(REMOVE_TIMEOUT_MS));
    } catch (thrown) {
      const { log, sweep } = this.#services;
      log.warn({ ...fields, error: textOf(thrown) }, "cleanup failed, retrying");
      sweep.add(remove);
    }
  }

  async #removeOnceSettled(delivery: "acknowledged" | "dropped", remove: Remove): Promise<void> {
    if (await this.settled(delivery)) return this.remove(remove);
    const removeLater: Remove = async (signal) => {
      if (!(await this.settled(delivery))) throw new Error("the end of its action is not recorded");
      await remove(signal);
    };
    this.#services.sweep.add(removeLater);
  }

  async #end(event: "end" | "deny", { state, message, stoppedAt }: EndStatus): Promise<void> {
    await this.#move(event, { end: { state, message, stoppedAt: stoppedAt.toISOString() } });
  }

  /** Follows the state table. Resolves to false if the event changes nothing, or if the next step must wait for the disk. */
  async #move(event: ActionEvent, facts?: EntryFacts): Promise<boolean> {
    const to = STATES[this.#state].on[event];
    if (to === undefined || to === "gone") return false;
    const { clock, journal } = this.#services;
    const before = { state: this.#state, entry: this.entry };
    const entry = entryIn(to, before.entry, new Date(clock.now()).toISOString(), facts);
    this.#state = to;
    this.#entry = entry;
    const takeBack = () => {
      this.#state = before.state;
      this.#entry = before.entry;
    };
    if (!this.#isOnRecord && event !== "begin") return true;
    const written = journal.write(entry);
    const { unwritten } = STATES[to];
    if (unwritten === "stop") {
      try {
        await written;
      } catch (thrown) {
        takeBack();
        throw new LaunchNotRecorded(thrown);
      }
      this.#isOnRecord = true;
      return true;
    }
    const isWritten = await this.#try(written);
    if (isWritten || unwritten === "continue") return true;
    takeBack();
    return false;
  }

  async #try(step: Promise<void>): Promise<boolean> {
    try {
      await step;
      return true;
    } catch (thrown) {
      const { phase } = this.entry;
      const facts = { ...this.fields, key: this.key, phase, error: textOf(thrown) };
      this.#services.log.error(facts, "journal write failed: action step not recorded");
      return false;
    }
  }

  #statusOf(outcome: Outcome): EndStatus {
    return endStatus(this.entry.action, outcome, this.startedAt, this.entry.machine);
  }

  /**
   * Adjusts the times to this host's clock. A pod's node has its own clock, and clocks are set: no end is before its start
   * or in the future.
   */
  #onThisClock(outcome: Outcome): Outcome {
    const stoppedMs = outcome.stoppedAt.getTime();
    const tookMs = Math.max(0, stoppedMs - outcome.startedAt.getTime());
    const latestMs = Math.min(stoppedMs, this.#services.clock.now());
    const endMs = Math.max(this.startedAt.getTime() + tookMs, latestMs);
    return { ...outcome, startedAt: new Date(endMs - tookMs), stoppedAt: new Date(endMs) };
  }

  #observeDelivery(status: EndStatus, delivery: Delivery): void {
    this.#services.observer.action({ kind: "reported", ...this.seen, delivery, status });
  }

  #observeEnd(outcome: Outcome): void {
    const { observer, runtime } = this.#services;
    const { machine } = this.entry;
    const ended = { kind: "ended", action: this.#action, runtime: runtime.name } as const;
    observer.action({ ...ended, machine, outcome });
  }

  #logEnd(outcome: Outcome): void {
    const { log } = this.#services;
    const facts = {
      ...this.fields,
      ...defined({ class: outcome.class, exitCode: outcome.exitCode }),
      durationMs: outcome.stoppedAt.getTime() - this.startedAt.getTime(),
      result: outcome.message,
    };
    if (outcome.ok) log.info(facts, "action succeeded");
    else log.warn(facts, "action failed");
  }
}

/** The recorded part of a target. */
export interface RecordedTarget {
  readonly machine?: Target["machine"];
  readonly lockKey?: Target["lockKey"];
  readonly connected: boolean;
}

function newEntry(
  { clock, runtime, defaultTimeoutMs }: RunServices,
  action: Action,
  { machine, lockKey, connected }: RecordedTarget,
): JournalEntry & { readonly phase: "launching" } {
  const { workflowId, taskId, agentId, actionId, name, image } = action;
  const idMayReturn = action.returningIds ? (true as const) : undefined;
  return {
    key: actionKey(action),
    action: { workflowId, taskId, agentId, actionId, name, image, idMayReturn },
    machine,
    lockKey,
    runtime: runtime.name,
    connected,
    timeoutMs: action.timeoutMs > 0 ? action.timeoutMs : defaultTimeoutMs,
    startedAt: new Date(clock.now()).toISOString(),
    startedBootTime: bootTimeIn(0),
    phase: "launching",
  };
}
