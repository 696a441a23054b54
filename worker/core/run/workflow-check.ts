import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { fieldsOf, type RunningStatus, WorkflowDeleted } from "../action/action.ts";
import type { Source } from "../ports/source.ts";

export interface WorkflowCheckOptions {
  readonly source: Source;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The check of one running action. */
export interface WorkflowCheck {
  /** Aborts with the given signal, and with `WorkflowDeleted`. */
  readonly cancel: AbortSignal;
  /** Ends the check. No report is sent afterwards, because the server takes the last report as the state. */
  end(): void;
}

/** How often the server is asked. For a deleted workflow it retries for a minute before it answers. */
const EVERY_MS = 60_000;
/** The server's cache may be stale for this long. */
const CERTAIN_MS = 3_000;

/**
 * Asks the server now and then whether the workflow of a running action still exists. The server does not inform polling
 * workers about deleted workflows.
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

/** Resolves to true when the workflow is gone, and to false when the signal aborts. */
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
