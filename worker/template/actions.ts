import type { Action } from "../core/action/action.ts";
import type { Template, TemplateAction, TemplateTask } from "./template.ts";

/** An action as a worker receives it, without the IDs that a workflow adds. */
export interface PlannedAction extends Omit<Action, "workflowId" | "taskId" | "actionId"> {
  readonly taskName: string;
}

/** All actions of a template in the order in which they run. */
export function actionsOf(template: Template): readonly PlannedAction[] {
  return template.tasks.flatMap(actionsOfTask);
}

/**
 * The actions of a task, merged with the task's own fields like in the tink server: the action's environment wins and is
 * sorted, the task's volumes come before the action's, and `namespaces.pid` overrides `pid`.
 */
export function actionsOfTask(task: TemplateTask): readonly PlannedAction[] {
  return task.actions.map((action) => planned(task, action));
}

function planned(task: TemplateTask, action: TemplateAction): PlannedAction {
  const networkNamespace = action.namespaces?.network || undefined;
  const pidNamespace = action.namespaces?.pid || action.pid || undefined;
  return {
    taskName: task.name,
    agentId: task.worker,
    name: action.name,
    image: action.image,
    timeoutMs: action.timeoutSeconds * 1_000,
    command: action.command,
    volumes: [...task.volumes, ...action.volumes],
    environment: sorted({ ...task.environment, ...action.environment }),
    networkNamespace,
    pidNamespace,
  };
}

function sorted(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The namespace of a template file in `run` and `policy test`, which the policy can name like any other. */
export const LOCAL_NAMESPACE = "local";

/**
 * The actions of some tasks as a worker would receive them from a workflow with this ID. An action's ID contains its
 * position, because names may contain the separator.
 */
export function runnableActions(tasks: readonly TemplateTask[], workflowId: string): readonly Action[] {
  return tasks.flatMap((task, taskIndex) =>
    actionsOfTask(task).map((action, index) => ({
      ...action,
      workflowId,
      taskId: task.name,
      actionId: `${taskIndex + 1}-${index + 1}-${action.name}`,
      onTimeout: task.actions[index]?.onTimeout ?? [],
      onFailure: task.actions[index]?.onFailure ?? [],
    })),
  );
}
