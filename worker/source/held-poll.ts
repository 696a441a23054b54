import type { Clock } from "../../shared/clock.ts";
import type { Notifier } from "../../shared/notifier.ts";
import type { Action } from "../action/action.ts";
import type { Wake } from "../action/waking.ts";
import type { Poll } from "./source.ts";

/** Actions inside the worker that a lane asks for. */
export interface HeldActions {
  /** The next action; undefined if none is ready. */
  readonly take: () => Action | undefined;
  /** Whether one may become ready without a notice: a lane drops actions without saying so. */
  readonly mayComeBack: () => boolean;
  /** Notified when one becomes ready. */
  readonly notifier: Notifier;
  readonly clock: Clock;
  /** Why there is none. */
  readonly idle: string;
}

/** How long a poll is held: less than what health accepts for a lane. */
const HOLD_MS = 20_000;
export const RECHECK_MS = 250;

/** Answers a poll once an action is ready, or after a while. Rejects when the signal aborts. */
export async function heldPoll(actions: HeldActions, signal: AbortSignal): Promise<Poll> {
  const { take, mayComeBack, notifier, clock, idle } = actions;
  const endMs = clock.monotonicMs() + HOLD_MS;
  for (;;) {
    signal.throwIfAborted();
    const action = take();
    if (action) return { kind: "action", action };
    const remainingMs = endMs - clock.monotonicMs();
    if (remainingMs <= 0) return { kind: "idle", reason: idle };
    await notifier.wait(mayComeBack() ? Math.min(remainingMs, RECHECK_MS) : remainingMs, clock, signal);
  }
}

/** Resolves when an action may be ready, or the signal aborts. */
export async function waitForAction(
  isReady: () => boolean,
  { notifier, clock }: Pick<HeldActions, "notifier" | "clock">,
  signal: AbortSignal,
): Promise<Wake> {
  while (!signal.aborted && !isReady()) await notifier.wait(Number.POSITIVE_INFINITY, clock, signal);
  return "addressed";
}
