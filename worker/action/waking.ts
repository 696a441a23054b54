import type { ActionId } from "./action.ts";

/** Why an agent ID is to be asked for now. */
export type Wake =
  /** There may be an action for it. */
  | "addressed"
  /** Nothing points to one; asked all the same, now and then. */
  | "rarely"
  /** Nobody can tell. */
  | "unknown";

/** Tells when it is worth asking the server for an agent ID. */
export interface Waking {
  /** Why it is to be asked for now; undefined where it is to be waited. */
  now(agentId: string): Wake | undefined;
  /** Waits until it is to be asked for. Resolves, too, when the signal aborts. Never rejects. */
  wait(agentId: string, signal: AbortSignal): Promise<Wake>;
  /** How many Workflows that are over the server may look at instead of the one that has an action. */
  blocking?(agentId: string): number;
  /** The server gave an action to who asked for that reason. */
  served(action: Pick<ActionId, "workflowId">, why: Wake): void;
}

/** Asks all the time, and lets the server hold the question. */
export const alwaysAwake: Waking = {
  now: () => "unknown",
  wait: async () => "unknown",
  served: () => undefined,
};
