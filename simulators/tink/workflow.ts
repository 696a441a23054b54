import { randomUUID } from "node:crypto";
import { actionsOfTask, type PlannedAction } from "../../worker/template/actions.ts";
import type { Template, TemplateAction } from "../../worker/template/template.ts";

export type ActionState = "UNSPECIFIED" | "PENDING" | "RUNNING" | "FAILED" | "TIMEOUT" | "SUCCESS";
type WorkflowState = ActionState | "PREPARING" | "POST";

/** An action of a workflow and what was reported about it. */
export interface WorkflowAction extends PlannedAction {
  readonly id: string;
  state: ActionState;
  message: string;
  startedAt?: Date;
  stoppedAt?: Date;
  /** The reported duration in Go's notation. */
  duration: string;
}

export interface WorkflowTask {
  readonly id: string;
  readonly name: string;
  readonly agentId: string;
  readonly actions: readonly WorkflowAction[];
}

/** A workflow as the server keeps it. The object is live, so a test can hold it and read its state. */
export interface Workflow {
  /** The ID in the form `namespace/name`. */
  readonly id: string;
  readonly tasks: readonly WorkflowTask[];
  readonly globalTimeoutSeconds: number;
  state: WorkflowState;
  /** The agent that runs the current task. */
  agentId: string;
  /** The action that was last served or reported. */
  current?: { readonly taskId: string; readonly actionId: string; readonly state: ActionState };
  /** When the global timeout ends the workflow, in milliseconds since the epoch. */
  deadline?: number;
}

export function createWorkflow(id: string, template: Template): Workflow {
  const tasks = template.tasks.map((task) => ({
    id: randomUUID(),
    name: task.name,
    agentId: task.worker,
    actions: actionsOfTask(task).map(
      (action, index): WorkflowAction => ({
        ...action,
        ...hooksOf(task.actions[index]),
        id: randomUUID(),
        state: "PENDING",
        message: "",
        duration: "",
      }),
    ),
  }));
  return {
    id,
    tasks,
    globalTimeoutSeconds: template.globalTimeoutSeconds,
    state: "PENDING",
    agentId: tasks[0]?.agentId ?? "",
  };
}

export function isOver(workflow: Workflow): boolean {
  return ["SUCCESS", "FAILED", "TIMEOUT"].includes(workflow.state);
}

/** Returns the hooks of an action, which only the deprecated API passes on. */
function hooksOf(action: TemplateAction | undefined): Pick<WorkflowAction, "onFailure" | "onTimeout"> {
  const { onTimeout = [], onFailure = [] } = action ?? {};
  return {
    ...(onTimeout.length > 0 ? { onTimeout } : {}),
    ...(onFailure.length > 0 ? { onFailure } : {}),
  };
}
