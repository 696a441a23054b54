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

export interface Transport extends ActionSource, StatusSink {
  /** During an outage: something that usually fails with the server works again. */
  probeNow?(): void;
  close(): Promise<void>;
}
