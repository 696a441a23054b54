import type { Action, ActionStatus } from "../action/action.ts";

/** What came of asking for an action. */
export type Poll =
  | { readonly kind: "action"; readonly action: Action }
  /** The server answered that there is nothing to do now; `reason` is its own words. */
  | { readonly kind: "idle"; readonly reason: string }
  /** The server did not answer sensibly; `code` is the gRPC code's name. Where it answers no lane, `outage` is set. */
  | { readonly kind: "failed"; readonly code: string; readonly reason: string; readonly outage?: Outage };

/** The time for which a server is unavailable to all lanes. */
export interface Outage {
  /**
   * Resolves to true when the lane may poll again, and to false when it may not within that time. Rejects when the signal
   * aborts.
   */
  over(withinMs: number, signal: AbortSignal): Promise<boolean>;
}

/** What came of a report. */
export type Acknowledgement =
  | { readonly kind: "acknowledged" }
  /**
   * Not taken now; the same report may be taken later. `missing`: the server does not find the workflow; its cache may be
   * behind. `bounded`: the server answers the same way when the workflow is gone, so that retrying without end is
   * pointless. `outage`: it answers no lane.
   */
  | {
      readonly kind: "retry";
      readonly code: string;
      readonly reason: string;
      readonly missing?: true;
      readonly bounded?: true;
      readonly outage?: true;
    }
  /** Will never be taken: the workflow or action is gone, or the report is not understood. */
  | { readonly kind: "rejected"; readonly code: string; readonly reason: string };

/** By workflow ID. */
export type WorkflowsInFlight = Pick<ReadonlySet<string>, "has">;

/** Where actions come from. Rejects only when the signal aborts. */
export interface ActionSource {
  /**
   * The next action for an agent ID. Workflows at hand are those whose actions it was given and has not yet come back
   * from; a server that serves an agent ID one workflow at a time has nothing beside them.
   */
  next(agentId: string, signal: AbortSignal, inFlight?: WorkflowsInFlight): Promise<Poll>;
  /** Whether an agent ID may be served several workflows at a time. */
  servesSeveral(): boolean;
}

/** Where the states of actions go. Rejects only when the signal aborts. */
export interface StatusSink {
  report(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement>;
}

export interface Transport extends ActionSource, StatusSink {
  close(): Promise<void>;
}
