import type { ErrorClass } from "../../../../shared/contract/error-class.ts";
import type { Progress } from "../../../../shared/contract/progress.ts";
import { defined } from "../../../../shared/defined.ts";
import { shortened } from "../../../../shared/printable.ts";
import type { Delivery } from "../../../core/action/action.ts";
import type { SeenAction } from "../../../core/action/observer.ts";

/** `waiting` for the machine's lock or for a slot. */
type ActionPhase = "waiting" | "running" | "succeeded" | "failed";

/** The state of an action. Immutable: every event creates a new record. */
export interface ActionRecord {
  readonly action: SeenAction;
  readonly machine?: string;
  readonly phase: ActionPhase;
  /** Start of the phase, on the monotonic clock. */
  readonly sinceMs: number;
  /** Wall clock times are only shown, because the clock can jump. */
  readonly takenAt?: Date;
  readonly startedAt?: Date;
  readonly stoppedAt?: Date;
  readonly runtime?: string;
  readonly timeoutMs?: number;
  /** Started by an earlier worker. */
  readonly adopted: boolean;
  /** What it does now; `sinceMs` is on the monotonic clock. */
  readonly progress?: Progress & { readonly sinceMs: number };
  /** How long it waited, if this worker took it; once it runs or has ended. */
  readonly waitedMs?: number;
  /** When it tried a call to the BMC again, since its start; the first ones. */
  readonly retriesMs?: readonly number[];
  /** Once it has ended; never negative. */
  readonly durationMs?: number;
  readonly class?: ErrorClass;
  /** One line: why it failed, or what it did. */
  readonly reason?: string;
  readonly exitCode?: number;
  readonly provider?: string;
  /** The delivery of its final report; absent while it is pending. A rejected report is pending, too. */
  readonly delivery?: Delivery;
  /** The text of that report. */
  readonly reported?: string;
  /** The board's revision when the record was created. */
  readonly revision: number;
}

/** Names from the server can have any length. */
export const LONGEST_NAME = 300;
export const MOST_RETRIES = 50;

export function isEnded({ phase }: Pick<ActionRecord, "phase">): boolean {
  return phase === "succeeded" || phase === "failed";
}

export function identityOf(action: SeenAction, machine?: string): Pick<ActionRecord, "action" | "machine"> {
  const short = (text: string) => shortened(text, LONGEST_NAME);
  return {
    action: {
      key: action.key,
      workflowId: short(action.workflowId),
      taskId: short(action.taskId),
      agentId: short(action.agentId),
      actionId: short(action.actionId),
      name: short(action.name),
      image: short(action.image),
    },
    ...defined({ machine }),
  };
}
