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

/** States in which the server serves actions, as both generations of it write them. */
const OPEN_STATES = new Set(["", "PENDING", "RUNNING", "STATE_PENDING", "STATE_RUNNING"]);

/** The agent IDs for which a Workflow may have an action now. */
export function addressedAgents(object: unknown): readonly string[] {
  const parsed = Workflow.safeParse(object);
  const status = parsed.success ? parsed.data.status : undefined;
  if (!status || !OPEN_STATES.has(status.state ?? "")) return NOBODY;
  const named = status.agentID ? [status.agentID] : (status.tasks ?? []).map(({ worker }) => worker);
  return [...new Set(named.filter((agent) => agent !== undefined).filter((agent) => agent !== ""))];
}

/** One for the many Workflows that are over. */
const NOBODY: readonly string[] = [];
