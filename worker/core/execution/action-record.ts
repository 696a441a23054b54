import { defined } from "../../../shared/defined.ts";
import { textOf } from "../../../shared/text-of.ts";
import {
  type Action,
  actionKey,
  type Delivery,
  type EndStatus,
  endStatus,
  fieldsOf,
  type LogFields,
  type Outcome,
  type RunningStatus,
} from "../action/action.ts";
import { bootTimeIn } from "../action/boot-time.ts";
import { seenAction } from "../action/observer.ts";
import { type EntryFacts, entryIn, isUnreported, type JournalEntry, statusOf } from "../journal/entry.ts";
import { type ActionEvent, type ActionState, STATES } from "../journal/states.ts";
import { type EndedAction, type LaunchHandle, LaunchNotRecorded } from "../runtime/runtime.ts";
import type { Execution } from "./execution.ts";
import type { Target } from "./executor-options.ts";

type Removable = Pick<EndedAction, "remove">;
type RecordOptions = Pick<
  Execution,
  "journal" | "clock" | "log" | "runtime" | "observer" | "defaultTimeoutMs"
> & {
  readonly reports: Pick<Execution["reports"], "deliver" | "running">;
  readonly sweep: Pick<Execution["sweep"], "add">;
};

/** Where a new action acts; with `connect`, it gets its connection from the worker. */
type Place = Pick<Target & { readonly ok: true }, "machine" | "lockKey" | "connect">;

const REMOVE_TIMEOUT_MS = 30_000;
const NOTHING_LEFT: Removable = { remove: async () => undefined };

/**
 * What the worker knows of one action, from its admission to its last report. `STATES` says what must be on record before each
 * step, and what follows if it cannot be written.
 */
export class ActionRecord {
  /** Of every log line about the action. */
  readonly fields: LogFields;
  readonly startedAt: Date;
  readonly #options: RecordOptions;
  #state: ActionState;
  /** Of an admitted action: the entry that it gets. */
  #entry: JournalEntry;
  #isOnRecord: boolean;

  /** Continues with what an earlier worker wrote. */
  constructor(options: RecordOptions, entry: JournalEntry, state: ActionState = entry.phase) {
    this.#options = options;
    this.#entry = entry;
    this.#state = state;
    this.#isOnRecord = state !== "admitted";
    this.fields = fieldsOf(entry.action, entry.machine);
    this.startedAt = new Date(entry.startedAt);
  }

  static admitted(options: RecordOptions, action: Action, place: Place): ActionRecord {
    return new ActionRecord(options, newEntry(options, action, place), "admitted");
  }

  get entry(): JournalEntry {
    return this.#entry;
  }

  get running(): RunningStatus {
    const { action, machine } = this.#entry;
    const { startedAt } = this;
    return { action, ...defined({ machine }), state: "running", startedAt, message: "running" };
  }

  /** Before the launch. Rejects with `LaunchNotRecorded`. */
  async begin(): Promise<void> {
    await this.#move("begin");
  }

  /** The action exists, and may act once this has resolved. Rejects with `LaunchNotRecorded`. */
  async launched(handle: LaunchHandle): Promise<void> {
    await this.#move("launch", { handle });
  }

  /** The action did nothing, and the server serves it again. */
  async forget(): Promise<void> {
    if (STATES[this.#state].on.forget && this.#isOnRecord)
      await this.#try(this.#options.journal.remove(this.#entry.key));
  }

  /** The server serves the action again, as if it had not got the report. */
  async reopen(): Promise<void> {
    await this.#move("serve");
  }

  /** Denied before its launch. Reports the end. */
  async deny(outcome: Outcome, cancel: AbortSignal): Promise<void> {
    this.#observeEnd(outcome);
    await this.#end("deny", endStatus(this.#entry.action, outcome, this.startedAt));
    await this.reportEnd(NOTHING_LEFT, cancel);
  }

  /**
   * Records the end, reports it, and removes the container or process, in this order. `after` runs once the end is recorded: if the
   * worker dies in it, the next one reports the end and does not repeat it. It resolves to text for the status message.
   */
  async conclude(ended: EndedAction, cancel: AbortSignal, after?: () => Promise<string>): Promise<Outcome> {
    const outcome = this.#onThisClock(ended.outcome);
    this.#logEnd(outcome);
    this.#observeEnd(outcome);
    await this.#end("end", this.#statusOf(outcome));
    if (after) {
      const message = `${outcome.message}; ${await after()}`;
      await this.#end("end", this.#statusOf({ ...outcome, message }));
    }
    await this.reportEnd(ended, cancel);
    return outcome;
  }

  /** Records an end without reporting it: it is reported if the server serves the action again. */
  async withhold({ outcome }: EndedAction): Promise<void> {
    await this.#end("end", this.#statusOf(this.#onThisClock(outcome)));
  }

  /**
   * Reports the recorded end, and then removes the action. Resolves when that is done, when the server has rejected it, or after a few
   * seconds: the rest continues in the background.
   */
  async reportEnd(ended: Removable, cancel: AbortSignal): Promise<void> {
    const entry = this.#entry;
    if (!isUnreported(entry)) return;
    const status = statusOf(entry);
    await this.#options.reports.deliver({
      status,
      cancel,
      onRejected: async (code) => {
        await this.rejected(code);
        this.#observeDelivery(status, "rejected");
      },
      finish: async (delivery) => {
        this.#observeDelivery(status, delivery);
        // Until its end is settled it is kept, so that the next worker finds it instead of running it again.
        if (delivery === "unanswered") return;
        if (await this.settled(delivery)) return this.remove(ended);
        const remove = async (signal: AbortSignal) => {
          if (!(await this.settled(delivery))) throw new Error("the end of its action is not recorded");
          await ended.remove(signal);
        };
        this.#options.sweep.add({ remove });
      },
    });
  }

  async rejected(code: string): Promise<void> {
    await this.#move("reject", { code });
  }

  /**
   * The report of its end is not repeated any more. Resolves to true if that is on record: only then the container or process may be
   * removed, because the next worker would count the action as lost.
   */
  async settled(delivery: "acknowledged" | "dropped"): Promise<boolean> {
    if (this.#state === delivery) return true;
    return this.#move(delivery === "acknowledged" ? "acknowledge" : "drop");
  }

  async remove(ended: Removable, fields = this.fields): Promise<void> {
    try {
      await ended.remove(AbortSignal.timeout(REMOVE_TIMEOUT_MS));
    } catch (thrown) {
      const { log, sweep } = this.#options;
      log.warn({ ...fields, error: textOf(thrown) }, "cleanup failed, retrying");
      sweep.add(ended);
    }
  }

  async #end(event: "end" | "deny", { state, message, stoppedAt }: EndStatus): Promise<void> {
    await this.#move(event, { end: { state, message, stoppedAt: stoppedAt.toISOString() } });
  }

  /** Follows the table. Resolves to false if the event changes nothing, or if what comes next must wait for the disk. */
  async #move(event: ActionEvent, facts?: EntryFacts): Promise<boolean> {
    const to = STATES[this.#state].on[event];
    if (to === undefined || to === "gone") return false;
    const [state, entry] = [this.#state, this.#entry];
    this.#state = to;
    this.#entry = entryIn(to, entry, new Date(this.#options.clock.now()).toISOString(), facts);
    if (!this.#isOnRecord && event !== "begin") return true;
    const written = this.#options.journal.write(this.#entry);
    const { unwritten } = STATES[to];
    if (unwritten === "stop") {
      try {
        await written;
      } catch (thrown) {
        [this.#state, this.#entry] = [state, entry];
        throw new LaunchNotRecorded(thrown);
      }
      this.#isOnRecord = true;
      return true;
    }
    const isWritten = await this.#try(written);
    if (isWritten || unwritten === "continue") return true;
    [this.#state, this.#entry] = [state, entry];
    return false;
  }

  async #try(step: Promise<void>): Promise<boolean> {
    try {
      await step;
      return true;
    } catch (thrown) {
      const { key, phase } = this.#entry;
      const facts = { ...this.fields, key, phase, error: textOf(thrown) };
      this.#options.log.error(facts, "journal write failed: action step not recorded");
      return false;
    }
  }

  #statusOf(outcome: Outcome): EndStatus {
    return endStatus(this.#entry.action, outcome, this.startedAt, this.#entry.machine);
  }

  /** A pod's node has a clock of its own, and clocks are set: no end is before its start or in the future. */
  #onThisClock(outcome: Outcome): Outcome {
    const stoppedMs = outcome.stoppedAt.getTime();
    const tookMs = Math.max(0, stoppedMs - outcome.startedAt.getTime());
    const latestMs = Math.min(stoppedMs, this.#options.clock.now());
    const endMs = Math.max(this.startedAt.getTime() + tookMs, latestMs);
    return { ...outcome, startedAt: new Date(endMs - tookMs), stoppedAt: new Date(endMs) };
  }

  #observeDelivery(status: EndStatus, delivery: Delivery): void {
    const { clock, observer } = this.#options;
    const action = seenAction(this.#entry.action);
    observer.action({ kind: "reported", action, delivery, status, at: new Date(clock.now()) });
  }

  #observeEnd(outcome: Outcome): void {
    const { observer, runtime } = this.#options;
    const { action, machine } = this.#entry;
    const seen = { action: seenAction(action), runtime: runtime.name, ...defined({ machine }) };
    observer.action({ kind: "ended", ...seen, outcome });
  }

  #logEnd(outcome: Outcome): void {
    const { log } = this.#options;
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

export function newEntry(
  { clock, runtime, defaultTimeoutMs }: Pick<RecordOptions, "clock" | "runtime" | "defaultTimeoutMs">,
  action: Action,
  { machine, lockKey, connect }: Place,
  connected = connect !== undefined,
): JournalEntry & { readonly phase: "launching" } {
  const { workflowId, taskId, agentId, actionId, name, image } = action;
  const idMayReturn = action.returningIds ? (true as const) : undefined;
  return {
    key: actionKey(action),
    action: { workflowId, taskId, agentId, actionId, name, image, ...defined({ idMayReturn }) },
    ...defined({ machine, lockKey }),
    runtime: runtime.name,
    connected,
    timeoutMs: action.timeoutMs > 0 ? action.timeoutMs : defaultTimeoutMs,
    startedAt: new Date(clock.now()).toISOString(),
    ...defined({ startedBootTime: bootTimeIn(0) }),
    phase: "launching",
  };
}
