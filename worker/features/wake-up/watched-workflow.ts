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
            agentID: z.string().optional(),
            actions: z.array(z.object({ id: z.string().optional() })).optional(),
          }),
        )
        .optional(),
    })
    .optional(),
});

export interface WatchedWorkflow {
  readonly agents: readonly string[];
  /** The agent IDs of all its tasks; empty for a finished Workflow. */
  readonly workers: readonly string[];
  /** The agent ID whose polls the server may refuse because of this Workflow, although another one has an action. */
  readonly blocked?: string;
  /** Empty for a finished Workflow, and if actions have no IDs. */
  readonly actionIds: readonly string[];
  /** Whether the server may serve its first action. */
  readonly isPending?: boolean;
}

/** Before these, a Workflow may be prepared, run or clean up. */
const ENDED_STATES = new Set([
  ...["SUCCESS", "FAILED", "TIMEOUT"],
  ...["STATE_SUCCESS", "STATE_FAILED", "STATE_TIMEOUT"],
]);

/** States in which the server serves actions, in both generations of Tinkerbell. */
const OPEN_STATES = new Set(["", "PENDING", "RUNNING", "STATE_PENDING", "STATE_RUNNING"]);

export function watchedWorkflow(object: unknown): WatchedWorkflow {
  const parsed = Workflow.safeParse(object);
  const status = parsed.success ? parsed.data.status : undefined;
  if (!status) return CLOSED;
  const { state = "", agentID, tasks = [] } = status;
  const workers = ENDED_STATES.has(state)
    ? []
    : idsIn([agentID, ...tasks.flatMap((task) => [task.worker, task.agentID])]);
  if (!OPEN_STATES.has(state)) {
    // The server looks at one Workflow per agent ID and second, in no order, and may pick this one (tink server,
    // GetAction).
    const closed = agentID && tasks.length > 0 ? { ...CLOSED, blocked: agentID } : CLOSED;
    return workers.length > 0 ? { ...closed, workers } : closed;
  }
  return {
    isPending: PENDING_STATES.has(state),
    agents: idsIn(agentID ? [agentID] : tasks.map(({ worker }) => worker)),
    workers,
    actionIds: tasks.flatMap(({ actions = [] }) => actions.flatMap(({ id }) => (id ? [id] : []))),
  };
}

const PENDING_STATES = new Set(["PENDING", "STATE_PENDING"]);

function idsIn(names: readonly (string | undefined)[]): readonly string[] {
  return [...new Set(names.flatMap((name) => name || []))];
}

/** Shared by the many finished Workflows. */
const CLOSED: WatchedWorkflow = { agents: [], workers: [], actionIds: [] };
