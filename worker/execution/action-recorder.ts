import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import { type Action, actionKey, type EndStatus, fieldsOf, type LogFields } from "../action/action.ts";
import { bootTimeIn } from "../action/boot-time.ts";
import { isSettled, isUnreported, type JournalEntry, unanswered } from "../journal/entry.ts";
import type { ActionJournal } from "../journal/journal.ts";
import { type LaunchHandle, LaunchNotRecorded } from "../runtime/runtime.ts";

export interface RecorderOptions {
  readonly journal: ActionJournal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly runtime: string;
  readonly defaultTimeoutMs: number;
}

/** Where a new action acts; with `connect`, it gets its connection from the worker. */
export interface EntryTarget {
  readonly machine?: string;
  readonly lockKey?: string;
  readonly connect?: unknown;
}

/** A full disk may be cleaned up; until then the server serves the action again. */
const UNWRITABLE_PAUSE_MS = 5_000;

/**
 * Writes the steps of one action to the journal. If a step before the launch cannot be written, the action is not launched. An
 * end is reported even if it cannot be written.
 */
export class ActionRecorder {
  readonly #options: RecorderOptions;
  #entry: JournalEntry;

  /** Continues with what an earlier worker wrote. */
  constructor(options: RecorderOptions, entry: JournalEntry) {
    this.#options = options;
    this.#entry = entry;
  }

  /** Before the launch. Rejects with `LaunchNotRecorded`. */
  static async begin(options: RecorderOptions, entry: JournalEntry): Promise<ActionRecorder> {
    await orNotRecorded(options.journal.write(entry));
    return new ActionRecorder(options, entry);
  }

  /** The action exists, and may act once this has resolved. Rejects with `LaunchNotRecorded`. */
  async launched(handle: LaunchHandle): Promise<void> {
    if (this.#entry.phase !== "launching") return;
    const entry: JournalEntry = { ...this.#entry, phase: "launched", handle };
    await orNotRecorded(this.#options.journal.write(entry));
    this.#entry = entry;
  }

  /** It ended; `status` is what will be reported. */
  async ended({ state, message, stoppedAt }: EndStatus): Promise<void> {
    const { phase: _phase, ...about } = this.#entry;
    this.#entry = { ...about, phase: "ended", end: { state, message, stoppedAt: stoppedAt.toISOString() } };
    await this.#try(this.#options.journal.write(this.#entry));
  }

  /** The server rejected the report of its end, which is repeated. */
  async rejected(code: string): Promise<void> {
    const before = this.#entry;
    if (before.phase !== "ended") return;
    this.#entry = { ...before, phase: "rejected", rejectedAt: this.#now(), code };
    await this.#try(this.#options.journal.write(this.#entry));
  }

  /**
   * The report of its end is not repeated any more: the server has it, or does not wait for it. Resolves to true if that is on record:
   * only then the container or process may be removed, because the next worker would count the action as lost.
   */
  async settled(delivery: "acknowledged" | "dropped"): Promise<boolean> {
    const before = this.#entry;
    if (!isUnreported(before)) return before.phase === delivery;
    const ended = unanswered(before);
    const now = this.#now();
    this.#entry =
      delivery === "acknowledged"
        ? { ...ended, phase: delivery, acknowledgedAt: now }
        : { ...ended, phase: delivery, droppedAt: now };
    const isRecorded = await this.#try(this.#options.journal.write(this.#entry));
    if (!isRecorded) this.#entry = before;
    return isRecorded;
  }

  /** The server serves the action again, as if it had not got the report. */
  async reopened(): Promise<void> {
    const before = this.#entry;
    if (!isSettled(before)) return;
    this.#entry = unanswered(before);
    await this.#try(this.#options.journal.write(this.#entry));
  }

  /** The action did nothing, and the server serves it again. */
  async forget(): Promise<void> {
    await this.#try(this.#options.journal.remove(this.#entry.key));
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }

  async #try(step: Promise<void>): Promise<boolean> {
    try {
      await step;
      return true;
    } catch (thrown) {
      const { key, phase, action, machine } = this.#entry;
      this.#options.log.error(
        { ...fieldsOf(action, machine), key, phase, error: textOf(thrown) },
        "journal write failed: action step not recorded",
      );
      return false;
    }
  }
}

function orNotRecorded(step: Promise<void>): Promise<void> {
  return step.catch((thrown: unknown) => Promise.reject(new LaunchNotRecorded(thrown)));
}

/** Logs that an action did not start, and waits: the server serves it again, and by then the disk may be writable. */
export async function notRecorded(
  { clock, log }: Pick<RecorderOptions, "clock" | "log">,
  thrown: unknown,
  fields: LogFields,
  stop: AbortSignal,
): Promise<void> {
  log.error({ ...fields, error: textOf(thrown) }, "action not started: journal write failed");
  await clock.sleep(UNWRITABLE_PAUSE_MS, stop).catch(() => undefined);
}

export function newEntry(
  { clock, runtime, defaultTimeoutMs }: RecorderOptions,
  action: Action,
  { machine, lockKey, connect }: EntryTarget,
  connected = connect !== undefined,
): JournalEntry & { readonly phase: "launching" } {
  const { workflowId, taskId, agentId, actionId, name, image, idMayReturn } = action;
  return {
    key: actionKey(action),
    action: { workflowId, taskId, agentId, actionId, name, image, ...defined({ idMayReturn }) },
    ...defined({ machine, lockKey }),
    runtime,
    connected,
    timeoutMs: action.timeoutMs > 0 ? action.timeoutMs : defaultTimeoutMs,
    startedAt: new Date(clock.now()).toISOString(),
    ...defined({ startedBootTime: bootTimeIn(0) }),
    phase: "launching",
  };
}
