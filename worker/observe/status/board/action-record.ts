import type { ErrorClass } from "../../../../shared/contract/error-class.ts";
import type { Delivery } from "../../../action/action.ts";
import type { SeenAction } from "../../../action/observer.ts";

/** `waiting` for its turn at the machine, or for a slot. */
export type ActionPhase = "waiting" | "running" | "succeeded" | "failed";

/** What is known of an action; a new one replaces it with everything that happens. */
export interface ActionRecord {
  readonly action: SeenAction;
  readonly machine?: string;
  readonly phase: ActionPhase;
  /** Since when it is in its phase, on the clock that never goes backwards; in milliseconds. */
  readonly sinceMs: number;
  /** Of the wall clock, which may jump: only shown, never calculated with. */
  readonly takenAt?: Date;
  readonly startedAt?: Date;
  readonly stoppedAt?: Date;
  readonly runtime?: string;
  readonly timeoutMs?: number;
  /** An earlier worker started it. */
  readonly adopted: boolean;
  /** Once it has ended; never negative. */
  readonly durationMs?: number;
  readonly class?: ErrorClass;
  /** One line: why it failed, or what it did. */
  readonly reason?: string;
  readonly exitCode?: number;
  readonly provider?: string;
  /** What became of its final report; absent while that is still to be made. */
  readonly delivery?: Delivery;
  /** What that says. */
  readonly reported?: string;
  /** Of the board, when this was written. */
  readonly revision: number;
}

export function isEnded({ phase }: Pick<ActionRecord, "phase">): boolean {
  return phase === "succeeded" || phase === "failed";
}
