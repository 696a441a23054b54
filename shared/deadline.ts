import { TimeoutReached, withTimeout } from "./timeout.ts";

/** Why the worker must stop the work before it ends by itself. */
export type StopReason = "timeout" | "cancelled";

/** The longest time of a Node timer; a longer one would fire immediately. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits until `work` ends. Resolves to undefined if it has ended, and to the reason why it must be stopped: its time has
 * expired, or the signal aborted. Rejects with the error of `work`.
 */
export async function waitUntilDeadline(
  timeoutMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<StopReason | undefined> {
  if (signal.aborted) return "cancelled";
  try {
    await withTimeout(Math.min(Math.max(timeoutMs, 0), LONGEST_TIMER_MS), signal, work);
    return undefined;
  } catch (thrown) {
    if (signal.aborted) return "cancelled";
    if (thrown instanceof TimeoutReached) return "timeout";
    throw thrown;
  }
}
