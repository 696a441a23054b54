import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Action, ActionStatus } from "../action/action.ts";
import { actionKey } from "../action/action-key.ts";
import { fieldsOf } from "../action/action-status.ts";
import { type BootTime, bootTimeText } from "../action/boot-time.ts";
import type { JournalEntry } from "../journal/entry.ts";
import type { ActionJournal } from "../journal/journal.ts";
import { type LaunchHandle, LaunchNotRecorded } from "../runtime/runtime.ts";

/** What is known of an action before it is launched. */
export interface Launching {
  readonly action: Action;
  readonly machine?: string;
  readonly lockKey?: string;
  readonly runtime: string;
  readonly connected: boolean;
  readonly timeoutMs: number;
  readonly startedAt: Date;
  readonly startedBootTime?: BootTime | undefined;
}

/**
 * Writes one action's way into the journal, step by step. What cannot be written keeps an action from being launched,
 * and nothing else: an end is reported whatever the disk is like.
 */
export class ActionRecorder {
  readonly #journal: ActionJournal;
  readonly #clock: Clock;
  readonly #log: Logger;
  #entry: JournalEntry;

  private constructor(parts: RecorderParts, entry: JournalEntry) {
    this.#journal = parts.journal;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#entry = entry;
  }

  /** Before the launch. Rejects with `LaunchNotRecorded`. */
  static async begin(parts: RecorderParts, launching: Launching): Promise<ActionRecorder> {
    const entry = entryOf(launching);
    await orNotRecorded(parts.journal.write(entry));
    return new ActionRecorder(parts, entry);
  }

  /** Goes on with what an earlier worker wrote. */
  static resume(parts: RecorderParts, entry: JournalEntry): ActionRecorder {
    return new ActionRecorder(parts, entry);
  }

  /** It is there, and may do something once this has resolved. Rejects with `LaunchNotRecorded`. */
  async launched(handle: LaunchHandle): Promise<void> {
    if (this.#entry.phase !== "launching") return;
    const entry: JournalEntry = { ...this.#entry, phase: "launched", handle };
    await orNotRecorded(this.#journal.write(entry));
    this.#entry = entry;
  }

  /** It ended; `status` is what will be reported. */
  async ended({ state, message, stoppedAt }: ActionStatus): Promise<void> {
    if (state === "running" || stoppedAt === undefined) throw new Error("an action that runs has not ended");
    const { phase: _phase, ...about } = this.#entry;
    this.#entry = { ...about, phase: "ended", end: { state, message, stoppedAt: stoppedAt.toISOString() } };
    await this.#try(this.#journal.write(this.#entry));
  }

  /**
   * The server took the report of its end, or never will. Resolves to whether the journal says nothing else: only then
   * what is left of the action may go, because a worker that comes back would take it for lost.
   */
  async acknowledged(): Promise<boolean> {
    if (this.#entry.phase !== "ended") return this.#entry.phase === "acknowledged";
    const acknowledgedAt = new Date(this.#clock.now()).toISOString();
    this.#entry = { ...this.#entry, phase: "acknowledged", acknowledgedAt };
    return this.#try(this.#journal.write(this.#entry));
  }

  /** Nothing is known of it any more: it did nothing, and the server serves it again. */
  async forget(): Promise<void> {
    await this.#try(this.#journal.remove(this.#entry.key));
  }

  async #try(step: Promise<void>): Promise<boolean> {
    try {
      await step;
      return true;
    } catch (thrown) {
      const { key, phase, action, machine } = this.#entry;
      this.#log.error(
        { ...fieldsOf(action, machine), key, phase, error: textOf(thrown) },
        "journal write failed: action step not recorded",
      );
      return false;
    }
  }
}

export interface RecorderParts {
  readonly journal: ActionJournal;
  readonly clock: Clock;
  readonly log: Logger;
}

async function orNotRecorded(step: Promise<void>): Promise<void> {
  try {
    await step;
  } catch (thrown) {
    throw new LaunchNotRecorded(thrown);
  }
}

/** The entry of an action that is about to be launched. */
export function entryOf(launching: Launching): JournalEntry {
  const { action, machine, lockKey, runtime, connected, timeoutMs, startedAt, startedBootTime } = launching;
  const { workflowId, taskId, agentId, actionId, name, image, idMayReturn } = action;
  return {
    key: actionKey(action),
    action: { workflowId, taskId, agentId, actionId, name, image, ...(idMayReturn ? { idMayReturn } : {}) },
    ...defined({ machine, lockKey }),
    runtime,
    connected,
    timeoutMs,
    startedAt: startedAt.toISOString(),
    ...(startedBootTime && { startedBootTime: bootTimeText(startedBootTime) }),
    phase: "launching",
  };
}
