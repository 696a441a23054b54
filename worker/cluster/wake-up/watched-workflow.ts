import { z } from "zod";

/**
 * As much of a Workflow as tells whom it waits for, and which actions it has. `agentID` is written by Tinkerbell's controller
 * from 0.17 on; before that the tasks name their workers, and which one's turn it is the server alone knows. Actions have IDs
 * from 0.17 on.
 */
const Workflow = z.object({
  status: z
    .object({
      state: z.string().optional(),
      agentID: z.string().optional(),
      tasks: z
        .array(
          z.object({
            worker: z.string().optional(),
            actions: z.array(z.object({ id: z.string().optional() })).optional(),
          }),
        )
        .optional(),
    })
    .optional(),
});

export interface WatchedWorkflow {
  /** The agent IDs for which it may have an action now. */
  readonly agents: readonly string[];
  /** The agent ID whose polls the server may refuse because of it, although another Workflow has an action. */
  readonly blocked?: string;
  /** Empty once it is over, and where actions have no IDs. */
  readonly actionIds: readonly string[];
}

/** States in which the server serves actions, as both generations of it write them. */
const OPEN_STATES = new Set(["", "PENDING", "RUNNING", "STATE_PENDING", "STATE_RUNNING"]);

export function watchedWorkflow(object: unknown): WatchedWorkflow {
  const parsed = Workflow.safeParse(object);
  const status = parsed.success ? parsed.data.status : undefined;
  if (!status) return CLOSED;
  const { state = "", agentID, tasks = [] } = status;
  if (!OPEN_STATES.has(state)) {
    // The server looks at one Workflow of an agent ID per second, in no order, and this one may be it (tink server, GetAction).
    return agentID && tasks.length > 0 ? { ...CLOSED, blocked: agentID } : CLOSED;
  }
  const named = agentID ? [agentID] : tasks.map(({ worker }) => worker);
  return {
    agents: [...new Set(named.filter((agent) => agent !== undefined).filter((agent) => agent !== ""))],
    actionIds: tasks.flatMap(({ actions = [] }) => actions.flatMap(({ id }) => (id ? [id] : []))),
  };
}

/** One for the many Workflows that are over. */
const CLOSED: WatchedWorkflow = { agents: [], actionIds: [] };
