import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import type { Action, ActionStatus } from "./action.ts";
import { actionKey } from "./action-key.ts";
import { ENTRY_VERSION, type JournalEntry } from "./journal/entry.ts";
import type { ActionJournal } from "./journal/journal.ts";
import type { LaunchHandle } from "./runtime/runtime.ts";

/** What is known of an action before it is launched. */
export interface Launching {
  readonly action: Action;
  readonly machine?: string;
  readonly lockKey?: string;
  readonly runtime: string;
  readonly timeoutMs: number;
  readonly startedAt: Date;
}

/** Writes one action's way into the journal, step by step, and never lets a full disk stop the action's report. */
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

  /** Before the launch. Rejects when it cannot be written: what is not on record is not launched. */
  static async begin(parts: RecorderParts, launching: Launching): Promise<ActionRecorder> {
    const entry = entryOf(launching);
    await parts.journal.write(entry);
    return new ActionRecorder(parts, entry);
  }

  /** Goes on with what an earlier worker wrote. */
  static resume(parts: RecorderParts, entry: JournalEntry): ActionRecorder {
    return new ActionRecorder(parts, entry);
  }

  /** The runtime launched it. */
  async launched(handle: LaunchHandle): Promise<void> {
    if (this.#entry.phase !== "launching") return;
    await this.#write({ ...this.#entry, phase: "launched", handle });
  }

  /** It ended; `status` is what will be reported. */
  async ended({ state, message, stoppedAt }: ActionStatus): Promise<void> {
    if (state === "running" || stoppedAt === undefined) throw new Error("an action that runs has not ended");
    const { phase: _phase, ...about } = this.#entry;
    await this.#write({
      ...about,
      phase: "ended",
      end: { state, message, stoppedAt: stoppedAt.toISOString() },
    });
  }

  /** The server took the report of its end. */
  async acknowledged(): Promise<void> {
    if (this.#entry.phase !== "ended") return;
    const acknowledgedAt = new Date(this.#clock.now()).toISOString();
    await this.#write({ ...this.#entry, phase: "acknowledged", acknowledgedAt });
  }

  /** Nothing is known of it any more: it was not launched, or the server never wants to hear of it. */
  async forget(): Promise<void> {
    try {
      await this.#journal.remove(this.#entry.key);
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  async #write(entry: JournalEntry): Promise<void> {
    this.#entry = entry;
    try {
      await this.#journal.write(entry);
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  #failed(thrown: unknown): void {
    const { key, phase, action } = this.#entry;
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    this.#log.error(
      { workflow: action.workflowId, action: action.name, key, phase, error },
      "journal not written, the action goes on",
    );
  }
}

export interface RecorderParts {
  readonly journal: ActionJournal;
  readonly clock: Clock;
  readonly log: Logger;
}

function entryOf({ action, machine, lockKey, runtime, timeoutMs, startedAt }: Launching): JournalEntry {
  const { workflowId, taskId, agentId, actionId, name, image, idMayReturn } = action;
  return {
    version: ENTRY_VERSION,
    key: actionKey(action),
    action: { workflowId, taskId, agentId, actionId, name, image, ...(idMayReturn ? { idMayReturn } : {}) },
    ...(machine === undefined ? {} : { machine }),
    ...(lockKey === undefined ? {} : { lockKey }),
    runtime,
    timeoutMs,
    startedAt: startedAt.toISOString(),
    phase: "launching",
  };
}
