import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { type ActionId, fieldsOf, type RunningStatus } from "../action/action.ts";
import { WorkflowDeleted } from "../action/workflow-deleted.ts";
import type { StatusSink } from "../source/source.ts";

export interface WorkflowCheckOptions {
  readonly sink: Pick<StatusSink, "isGone">;
  /** Whether something else sees now when the action's workflow is deleted. */
  readonly seesDeletion?: (action: ActionId) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
}

/** A check of one running action. */
export interface Checking {
  /** Aborts as the given signal does, and with `WorkflowDeleted`. */
  readonly cancel: AbortSignal;
  /** No check is sent after it: the server takes the last report as the state. */
  end(): void;
}

/** How often the server is asked. Its answer about a deleted workflow takes a minute, for which it retries. */
const EVERY_MS = 60_000;
/** The server's cache may be stale for as long. */
const CERTAIN_MS = 3_000;

/**
 * Asks the server now and then whether it still has the workflow of a running action. A server tells a polling worker nothing of
 * a deleted workflow.
 */
export class WorkflowCheck {
  readonly #options: WorkflowCheckOptions;

  constructor(options: WorkflowCheckOptions) {
    this.#options = options;
  }

  begin(running: RunningStatus, cancel: AbortSignal): Checking {
    const over = new AbortController();
    const gone = new AbortController();
    void this.#run(running, AbortSignal.any([over.signal, cancel])).then(
      (isGone) => {
        if (isGone) gone.abort(new WorkflowDeleted(running.action.workflowId));
      },
      () => undefined,
    );
    return { cancel: AbortSignal.any([cancel, gone.signal]), end: () => over.abort() };
  }

  /** Resolves to true once the workflow is gone, and to false when the signal aborts. Never rejects. */
  async #run(running: RunningStatus, signal: AbortSignal): Promise<boolean> {
    const { sink, clock, log, seesDeletion, random = Math.random } = this.#options;
    try {
      for (let goneSinceMs: number | undefined; ; ) {
        await clock.sleep(goneSinceMs === undefined ? EVERY_MS * (0.5 + random()) : CERTAIN_MS, signal);
        if (!sink.isGone || seesDeletion?.(running.action)) continue;
        const askedMs = clock.monotonicMs();
        const isGone = await sink.isGone(running, signal);
        signal.throwIfAborted();
        goneSinceMs = isGone ? (goneSinceMs ?? askedMs) : undefined;
        if (goneSinceMs === undefined || clock.monotonicMs() - goneSinceMs < CERTAIN_MS) continue;
        log.warn(fieldsOf(running.action, running.machine), "workflow deleted, stopping action");
        return true;
      }
    } catch (thrown) {
      if (signal.aborted) return false;
      throw thrown;
    }
  }
}
