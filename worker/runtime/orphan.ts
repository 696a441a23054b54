import type { ActionResult } from "../../shared/contract/result.ts";
import { type BootTime, msBetween, parseBootTime } from "../action/boot-time.ts";

/** How long after its time another worker's action is nobody's: that worker would have stopped it. */
const ABANDONED_AFTER_MS = 60 * 60_000;

/** What everything that a worker launches bears: labels on containers, variables in processes. */
export interface OwnerLabels {
  /** The ID of the state directory of the worker that launched it; absent where that kept no state. */
  readonly state?: string | undefined;
  /** The action's `actionKey`. */
  readonly key?: string | undefined;
  /** When its time is over, ISO 8601. */
  readonly deadline?: string | undefined;
  /** The same by the time since the machine started, as `bootTimeText` has it; absent where that is not known. */
  readonly deadlineBootTime?: string | undefined;
}

/**
 * Whether what was launched for an action is needed. `until-overdue`: nobody knows, and it goes when another worker's would,
 * long after its time.
 */
export type Need = boolean | "until-overdue";

export interface SweepOptions {
  /** Absent for a worker that keeps no state and so owns nothing of before. */
  readonly state?: string | undefined;
  /** The actions that run, or will be adopted. Asked after the listing, so that it knows all that was launched before. */
  readonly keep: (key: string) => Need;
  readonly nowMs: number;
  readonly bootTime?: BootTime | undefined;
}

/**
 * Whether no worker will come back for what bears this mark: one of the options's own state directory that is not to
 * be kept; or another worker's, long after its time. What bears no whole mark is never taken. The wall clock may be set
 * while an action runs, so that it counts only for what began before the machine was started.
 */
export function isOrphan(
  { state, key, deadline, deadlineBootTime }: OwnerLabels,
  options: SweepOptions,
): boolean {
  const deadlineMs = Date.parse(deadline ?? "");
  if (key === undefined || Number.isNaN(deadlineMs)) return false;
  const isOwn = state !== undefined && state === options.state;
  const need = isOwn ? options.keep(key) : "until-overdue";
  if (need !== "until-overdue") return !need;
  const overMs = msBetween(parseBootTime(deadlineBootTime), options.bootTime);
  return (overMs ?? options.nowMs - deadlineMs) > ABANDONED_AFTER_MS;
}

/**
 * Whether the worker died while it was handing the connection over, as the end of an action tells that had to wait for
 * all of it: the input was not right, and nothing was sent to a BMC.
 */
export function inputTruncated(connected: boolean, result: ActionResult | undefined): boolean {
  return connected && result?.class === "usage" && result.roundTrips === 0;
}
