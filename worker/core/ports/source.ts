import type { Action, ActionId, ActionStatus, RunningStatus, WorkflowMember } from "../action/action.ts";

/** The answer to a poll. */
export type Poll =
  | { readonly kind: "action"; readonly action: Action }
  /** The server has no action at present; `reason` is its own message. */
  | { readonly kind: "idle"; readonly reason: string }
  /** `code` is the name of the gRPC code. `outage` is set if the server is unavailable to all lanes. */
  | { readonly kind: "failed"; readonly code: string; readonly reason: string; readonly outage?: Outage };

/** A period in which a server is unavailable to all lanes. */
export interface Outage {
  /**
   * Resolves to true when the lane may poll again, and to false after `withinMs`. Rejects when the signal aborts.
   */
  over(withinMs: number, signal: AbortSignal): Promise<boolean>;
}

/** The answer to a report. */
export type Acknowledgement =
  | { readonly kind: "acknowledged" }
  /**
   * The report was not accepted, but may be accepted soon. `perhapsRejected`: a rejection has the same answer, so several of
   * these in a row count as one. `outage`: the server is unavailable to all lanes.
   */
  | {
      readonly kind: "retry";
      readonly code: string;
      readonly reason: string;
      readonly perhapsRejected?: true;
      readonly outage?: true;
    }
  /** The report was refused by the server, or by a proxy that did not pass it on. */
  | { readonly kind: "rejected"; readonly code: string; readonly reason: string }
  /**
   * The server itself says that it does not wait for the report: the workflow is gone or continues without it.
   * `perhapsStale`: its cache may be stale.
   */
  | { readonly kind: "gone"; readonly code: string; readonly reason: string; readonly perhapsStale?: true };

/** A set of workflow IDs. */
export interface WorkflowSet {
  has(workflowId: string): boolean;
}

/** Where actions come from. Rejects only when the signal aborts. */
export interface ActionSource {
  /**
   * Returns the next action for an agent ID, from a workflow that is not in flight. A server that serves one workflow at a
   * time ignores `inFlight`.
   */
  next(agentId: string, signal: AbortSignal, inFlight?: WorkflowSet): Promise<Poll>;
  /** Whether the server serves an agent ID several workflows at a time. */
  servesSeveral(): boolean;
}

/** Receives reports of the states of actions. Rejects only when the signal aborts. */
export interface StatusSink {
  report(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement>;
  /**
   * Whether the server itself says that the workflow of a running action is gone. False for every other answer, including a
   * proxy's refusal. Absent if the source cancels its actions by itself.
   */
  isGone?(running: RunningStatus, signal: AbortSignal): Promise<boolean>;
  /** Whether reports of an action wait for the end of an outage. An outage is logged only once. */
  isUnavailable?(action: ActionId): boolean;
}

/** Reports which actions are no longer needed. */
export interface Deletions {
  /** Returns a signal that aborts when the action is no longer needed. */
  cancelOf(action: ActionId): AbortSignal | undefined;
  /** Whether `cancelOf` covers a deleted workflow at present; otherwise the worker asks the source. */
  seesDeletion?(action: ActionId): boolean;
}

/** Serves actions and receives their reports. An action's agent ID selects its source. */
export interface Source extends ActionSource, StatusSink {
  /** Absent if the lane polls all the time. */
  readonly waking?: Waking | undefined;
  readonly deletions?: Deletions | undefined;
  /** Whether other workers may have ended an action that is in this worker's journal. */
  readonly isShared?: boolean;
}

/** The reason for a poll. */
export type Wake =
  /** There may be an action for the agent ID. */
  | "addressed"
  /** Nothing indicates an action; the poll is a precaution. */
  | "rarely"
  /** It is unknown whether there is an action. */
  | "unknown";

/** Decides when to poll for an agent ID. */
export interface Waking {
  /** The reason to poll now; undefined if the lane should wait. */
  now(agentId: string): Wake | undefined;
  /** Waits until the lane should poll. Also resolves when the signal aborts. Never rejects. */
  wait(agentId: string, signal: AbortSignal): Promise<Wake>;
  /** The number of completed Workflows that the server may check instead of the one with an action. */
  blocking?(agentId: string): number;
  /** Called when the server has served an action to a poll with this reason. */
  served(action: WorkflowMember, why: Wake): void;
}

/** Polls all the time and lets the server hold the poll. */
export const alwaysAwake: Waking = {
  now: () => "unknown",
  wait: async () => "unknown",
  served: () => undefined,
};
