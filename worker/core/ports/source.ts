import type { Action, ActionId, ActionStatus, RunningStatus } from "../action/action.ts";

/** The answer to a poll. */
export type Poll =
  | { readonly kind: "action"; readonly action: Action }
  /** The server has no action now; `reason` is its own message. */
  | { readonly kind: "idle"; readonly reason: string }
  /** `code` is the gRPC code's name. `outage` is set if the server is unavailable to all lanes. */
  | { readonly kind: "failed"; readonly code: string; readonly reason: string; readonly outage?: Outage };

/** The time for which a server is unavailable to all lanes. */
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
   * Not accepted now; the same report may be accepted soon. `perhapsRejected`: the server answers the same when it rejects the report,
   * so that several such answers in a row count as a rejection. `outage`: it is unavailable to all lanes.
   */
  | {
      readonly kind: "retry";
      readonly code: string;
      readonly reason: string;
      readonly perhapsRejected?: true;
      readonly outage?: true;
    }
  /** Refused, by the server or by a proxy that did not tell it. */
  | { readonly kind: "rejected"; readonly code: string; readonly reason: string }
  /** The server itself says that it does not wait for the report: the workflow is gone, or continues without it. `perhapsStale`: its cache may be behind. */
  | { readonly kind: "gone"; readonly code: string; readonly reason: string; readonly perhapsStale?: true };

/** By workflow ID. */
export type WorkflowSet = Pick<ReadonlySet<string>, "has">;

/** Where actions come from. Rejects only when the signal aborts. */
export interface ActionSource {
  /**
   * The next action for an agent ID, of a workflow that is not in flight. A server that serves one workflow at a time
   * ignores `inFlight`.
   */
  next(agentId: string, signal: AbortSignal, inFlight?: WorkflowSet): Promise<Poll>;
  /** Whether an agent ID may be served several workflows at a time. */
  servesSeveral(): boolean;
}

/** Where the states of actions are reported. Rejects only when the signal aborts. */
export interface StatusSink {
  report(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement>;
  /**
   * Whether the server itself says that it no longer has the workflow of a running action. False for every other answer, a
   * proxy's refusal included. Absent if the source cancels its actions without being asked.
   */
  isGone?(running: RunningStatus, signal: AbortSignal): Promise<boolean>;
  /** Whether reports of an action wait for the end of an outage, which is logged once. */
  isUnavailable?(action: Pick<ActionId, "agentId">): boolean;
}

/** Reports that an action is no longer needed. */
export interface Deletions {
  /** A signal that aborts when the action is no longer needed. */
  cancelOf(action: ActionId): AbortSignal | undefined;
  /** Whether `cancelOf` currently covers a deleted workflow; otherwise the worker asks the source. */
  seesDeletion?(action: ActionId): boolean;
}

/** Where actions come from and where their reports go. It is chosen by an action's agent ID. */
export interface Source extends ActionSource, StatusSink {
  /** Absent if its lane polls all the time. */
  readonly waking?: Waking | undefined;
  readonly deletions?: Deletions | undefined;
  /** Whether other workers may have ended an action that is in this worker's journal. */
  readonly isShared?: boolean;
}

/** Why an agent ID is polled for now. */
export type Wake =
  /** There may be an action for it. */
  | "addressed"
  /** Nothing points to an action; polled now and then to make sure. */
  | "rarely"
  /** It is not known whether there is an action. */
  | "unknown";

/** Decides when to poll for an agent ID. */
export interface Waking {
  /** Why to poll now; undefined if the lane is to wait. */
  now(agentId: string): Wake | undefined;
  /** Waits until the lane is to poll. Resolves, too, when the signal aborts. Never rejects. */
  wait(agentId: string, signal: AbortSignal): Promise<Wake>;
  /** How many completed Workflows the server may look at instead of the one that has an action. */
  blocking?(agentId: string): number;
  /** The server served an action to the poll that had this reason. */
  served(action: Pick<ActionId, "workflowId">, why: Wake): void;
}

/** Polls all the time, and lets the server hold the poll. */
export const alwaysAwake: Waking = {
  now: () => "unknown",
  wait: async () => "unknown",
  served: () => undefined,
};
