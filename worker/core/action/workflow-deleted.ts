export class WorkflowDeleted extends Error {
  override readonly name = "WorkflowDeleted";

  constructor(workflowId: string) {
    super(`the workflow ${workflowId} was deleted`);
  }
}

/** Whether a signal was aborted because the action's workflow was deleted: its end is then not reported. */
export function isWorkflowDeleted({ reason }: AbortSignal): boolean {
  return reason instanceof WorkflowDeleted;
}
