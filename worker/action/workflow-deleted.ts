/** Why an action is cancelled whose workflow the cluster no longer has. */
export class WorkflowDeleted extends Error {
  override readonly name = "WorkflowDeleted";

  constructor(workflowId: string) {
    super(`the workflow ${workflowId} was deleted`);
  }
}

/** Whether a signal was aborted because the action's workflow was deleted: nobody waits for its end then. */
export function isWorkflowDeleted({ reason }: AbortSignal): boolean {
  return reason instanceof WorkflowDeleted;
}
