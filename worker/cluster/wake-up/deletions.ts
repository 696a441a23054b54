import type { ActionId } from "../../action/action.ts";
import { WorkflowDeleted } from "../../action/workflow-deleted.ts";
import { keyOf } from "../client/kinds.ts";
import type { Change } from "../client/watched-objects.ts";
import type { WatchedWorkflow } from "./watched-workflow.ts";

interface Watched {
  readonly actionId: string;
  readonly controller: AbortController;
}

/** Cancels actions whose Workflow was deleted, or recreated under the same name. */
export class Deletions {
  readonly #watched = new Map<string, Watched>();

  /**
   * Aborts when the Workflow of an action is deleted. Undefined for a Workflow that is not known to have that action,
   * so that a stale watch, or one on another cluster, cancels nothing.
   */
  signalOf({ workflowId, actionId }: ActionId, known: WatchedWorkflow | undefined): AbortSignal | undefined {
    const watched = this.#watched.get(workflowId);
    if (watched?.actionId === actionId) return watched.controller.signal;
    if (!known?.actionIds.includes(actionId)) return undefined;
    const controller = new AbortController();
    this.#watched.set(workflowId, { actionId, controller });
    return controller.signal;
  }

  take(change: Change<WatchedWorkflow>): void {
    const workflowId = keyOf(change.name);
    const watched = this.#watched.get(workflowId);
    if (!watched || (change.kind === "set" && !isAnother(change.value, watched))) return;
    this.#watched.delete(workflowId);
    watched.controller.abort(new WorkflowDeleted(workflowId));
  }
}

function isAnother({ actionIds }: WatchedWorkflow, { actionId }: Watched): boolean {
  return actionIds.length > 0 && !actionIds.includes(actionId);
}
