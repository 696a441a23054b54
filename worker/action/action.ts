import type { ErrorClass } from "../../shared/contract/error-class.ts";
import type { ActionResult } from "../../shared/contract/result.ts";

/** The identity of an action in a workflow, as the tink API gives it. */
export interface ActionId {
  /** `namespace/name`. */
  readonly workflowId: string;
  readonly taskId: string;
  readonly agentId: string;
  readonly actionId: string;
  readonly name: string;
}

/** An action to run, as every source of actions gives it to the worker. */
export interface Action extends ActionId {
  readonly image: string;
  /** 0 when the template sets none: the worker's default applies. */
  readonly timeoutMs: number;
  /** Arguments; the image's entrypoint stays. */
  readonly command: readonly string[];
  /** `source:target[:options]` each. */
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly networkNamespace?: string;
  readonly pidNamespace?: string;
  /** Arguments to run the same image with after the action ran out of time, or failed; the deprecated API's. */
  readonly onTimeout?: readonly string[];
  readonly onFailure?: readonly string[];
  /** A workflow that is made anew has the same IDs, so that an action that comes back may be another run of it. */
  readonly idMayReturn?: true;
  /** The server has its start on record already, where it says so. */
  readonly begun?: true;
}

export type ActionState = "running" | "success" | "failed" | "timeout";

/** A report about an action; `stoppedAt` is there once it ended. */
export interface ActionStatus {
  readonly action: ActionId;
  /** For the log alone, where it is known. */
  readonly machine?: string;
  readonly state: ActionState;
  readonly startedAt: Date;
  readonly stoppedAt?: Date;
  /** One line. */
  readonly message: string;
}

/** Whether a report arrived: `rejected` means that it never will, `unanswered` that the time for it was over. */
export type Delivery = "acknowledged" | "rejected" | "unanswered";

/** One line of an action's own output; the result line is not among them. */
export interface LogLine {
  readonly stream: "stdout" | "stderr";
  readonly line: string;
}

/** What the worker concludes about an action that ended, whatever ran it. */
export interface Outcome {
  readonly ok: boolean;
  readonly class?: ErrorClass;
  /** One line: the action's own reason where it gave one. */
  readonly message: string;
  /** Absent when nothing was started. */
  readonly exitCode?: number;
  readonly startedAt: Date;
  readonly stoppedAt: Date;
  /** The worker ended it because its time was over. */
  readonly timedOut: boolean;
  /** It ended by a signal, the worker's or another. */
  readonly killed: boolean;
  /** What the action itself said, when it did. */
  readonly result?: ActionResult;
}
