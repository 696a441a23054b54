import { z } from "zod";

/**
 * The fields of a Workflow that show which agent ID it waits for and which actions it has. From 0.17 on, Tinkerbell's
 * controller writes `agentID`, and actions have IDs. Before, tasks name their workers, and only the server knows which
 * task is next.
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
  /** The agent IDs for which the Workflow may have an action now. */
  readonly agents: readonly string[];
  /** The agent ID whose polls the server may refuse because of this Workflow, although another one has an action. */
  readonly blocked?: string;
  /** Empty for a finished Workflow, and if actions have no IDs. */
  readonly actionIds: readonly string[];
}

/** States in which the server serves actions, in both generations of Tinkerbell. */
const OPEN_STATES = new Set(["", "PENDING", "RUNNING", "STATE_PENDING", "STATE_RUNNING"]);

export function watchedWorkflow(object: unknown): WatchedWorkflow {
  const parsed = Workflow.safeParse(object);
  const status = parsed.success ? parsed.data.status : undefined;
  if (!status) return CLOSED;
  const { state = "", agentID, tasks = [] } = status;
  if (!OPEN_STATES.has(state)) {
    // The server looks at one Workflow per agent ID and second, in no order, and may pick this one (tink server,
    // GetAction).
    return agentID && tasks.length > 0 ? { ...CLOSED, blocked: agentID } : CLOSED;
  }
  const named = agentID ? [agentID] : tasks.map(({ worker }) => worker);
  return {
    agents: [...new Set(named.filter((agent) => agent !== undefined).filter((agent) => agent !== ""))],
    actionIds: tasks.flatMap(({ actions = [] }) => actions.flatMap(({ id }) => (id ? [id] : []))),
  };
}

/** Shared by the many finished Workflows. */
const CLOSED: WatchedWorkflow = { agents: [], actionIds: [] };
