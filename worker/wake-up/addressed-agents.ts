import { z } from "zod";

/**
 * As much of a Workflow as tells whom it waits for. `agentID` is written by Tinkerbell's controller from 0.17 on; before
 * that the tasks name their workers, and which one's turn it is the server alone knows.
 */
const Workflow = z.object({
  status: z
    .object({
      state: z.string().optional(),
      agentID: z.string().optional(),
      tasks: z.array(z.object({ worker: z.string().optional() })).optional(),
    })
    .optional(),
});

/** What a Workflow means to the agent IDs that are polled for. */
export interface Addressed {
  /** The agent IDs for which it may have an action now. */
  readonly open: readonly string[];
  /** The agent ID whose polls the server may refuse because of it, although another Workflow has an action. */
  readonly blocked?: string;
}

/** States in which the server serves actions, as both generations of it write them. */
const OPEN_STATES = new Set(["", "PENDING", "RUNNING", "STATE_PENDING", "STATE_RUNNING"]);

export function addressedAgents(object: unknown): Addressed {
  const parsed = Workflow.safeParse(object);
  const status = parsed.success ? parsed.data.status : undefined;
  if (!status) return NOBODY;
  const { state = "", agentID, tasks = [] } = status;
  if (!OPEN_STATES.has(state)) {
    // The server looks at one Workflow of an agent ID per second, in no order, and this one may be it (tink server, GetAction).
    return agentID && tasks.length > 0 ? { open: [], blocked: agentID } : NOBODY;
  }
  const named = agentID ? [agentID] : tasks.map(({ worker }) => worker);
  return { open: [...new Set(named.filter((agent) => agent !== undefined).filter((agent) => agent !== ""))] };
}

/** One for the many Workflows that concern no agent ID. */
const NOBODY: Addressed = { open: [] };
