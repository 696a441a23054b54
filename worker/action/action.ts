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
  /** Each is `source:target[:options]`. */
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly networkNamespace?: string;
  readonly pidNamespace?: string;
  /** Arguments to run the same image with after the action timed out, or failed; in the deprecated API. */
  readonly onTimeout?: readonly string[];
  readonly onFailure?: readonly string[];
  /** A recreated workflow has the same IDs, so that the server may serve another run under them. */
  readonly idMayReturn?: true;
  /** The server has recorded its start, if it says so. */
  readonly begun?: true;
}

export type ActionState = "running" | "success" | "failed" | "timeout";

/** A report about an action; `stoppedAt` is set once it ended. */
export interface ActionStatus {
  readonly action: ActionId;
  /** For the log, if it is known. */
  readonly machine?: string;
  readonly state: ActionState;
  readonly startedAt: Date;
  readonly stoppedAt?: Date;
  /** One line. */
  readonly message: string;
}

/** `rejected`: the server will never accept the report. `unanswered`: the time for it was over. */
export type Delivery = "acknowledged" | "rejected" | "unanswered";

/** One line of an action's output, except the result line. */
export interface LogLine {
  readonly stream: "stdout" | "stderr";
  readonly line: string;
}

/** What the worker concludes about an action that ended. */
export interface Outcome {
  readonly ok: boolean;
  readonly class?: ErrorClass;
  /** One line: the action's own reason if it gave one. */
  readonly message: string;
  /** Absent if nothing was started. */
  readonly exitCode?: number;
  readonly startedAt: Date;
  readonly stoppedAt: Date;
  /** The worker stopped it because its time was over. */
  readonly timedOut: boolean;
  /** A signal ended it, from the worker or another process. */
  readonly killed: boolean;
  /** The action's own result, if it printed one. */
  readonly result?: ActionResult;
}
