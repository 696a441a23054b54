import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { fieldsOf, type RunningStatus, WorkflowDeleted } from "../action/action.ts";
import type { Source } from "../ports/source.ts";

export interface WorkflowCheckOptions {
  readonly source: Source;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A check of one running action. */
export interface WorkflowCheck {
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
export function checkWorkflow(
  options: WorkflowCheckOptions,
  running: RunningStatus,
  cancel: AbortSignal,
): WorkflowCheck {
  const over = new AbortController();
  const gone = new AbortController();
  void untilGone(options, running, AbortSignal.any([over.signal, cancel])).then(
    (isGone) => {
      if (isGone) gone.abort(new WorkflowDeleted(running.action.workflowId));
    },
    () => undefined,
  );
  return { cancel: AbortSignal.any([cancel, gone.signal]), end: () => over.abort() };
}

/** Resolves to true once the workflow is gone, and to false when the signal aborts. */
async function untilGone(
  { source, clock, log }: WorkflowCheckOptions,
  running: RunningStatus,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    for (let goneSinceMs: number | undefined; ; ) {
      await clock.sleep(goneSinceMs === undefined ? EVERY_MS * (0.5 + Math.random()) : CERTAIN_MS, signal);
      if (!source.isGone || source.deletions?.seesDeletion?.(running.action)) continue;
      const askedMs = clock.monotonicMs();
      const isGone = await source.isGone(running, signal);
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
