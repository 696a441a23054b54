import type { ActionId } from "./action.ts";

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
