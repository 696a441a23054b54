import type { ActionId } from "../../core/action/action.ts";
import { WorkflowDeleted } from "../../core/action/action.ts";
import { keyOf } from "../../kubernetes/client/kinds.ts";
import type { Change } from "../../kubernetes/client/watched-objects.ts";
import type { WatchedWorkflow } from "./watched-workflow.ts";

interface Watched {
  readonly actionId: string;
  readonly controller: AbortController;
  /** Whether the watch has shown the Workflow with this action. */
  isSeen: boolean;
}

/** The maximum number of watched Workflows, because nothing else removes those that the watch never shows. */
const MOST_WATCHED = 20_000;

/** Cancels actions whose Workflow was deleted, or recreated under the same name. */
export class Deletions {
  /** Watched actions by Workflow, the oldest first. */
  readonly #watched = new Map<string, Watched>();

  /**
   * Returns a signal that aborts when an action's Workflow is deleted. The watch must have shown the Workflow with this
   * action, so that a stale watch, or one of another cluster, cancels nothing. It may show the Workflow after the server has
   * served the action.
   */
  signalOf({ workflowId, actionId }: ActionId, known: WatchedWorkflow | undefined): AbortSignal {
    const watched = this.#watched.get(workflowId);
    if (watched?.actionId === actionId) return watched.controller.signal;
    const isSeen = known?.actionIds.includes(actionId) === true;
    const controller = new AbortController();
    this.#watched.delete(workflowId);
    this.#watched.set(workflowId, { actionId, controller, isSeen });
    const [oldest] = this.#watched.keys();
    if (this.#watched.size > MOST_WATCHED && oldest !== undefined) this.#watched.delete(oldest);
    return controller.signal;
  }

  take(change: Change<WatchedWorkflow>): void {
    const workflowId = keyOf(change.name);
    const watched = this.#watched.get(workflowId);
    if (!watched) return;
    if (change.kind === "set" && !isAnother(change.value, watched)) {
      watched.isSeen ||= change.value.actionIds.includes(watched.actionId);
      return;
    }
    if (!watched.isSeen) return;
    this.#watched.delete(workflowId);
    watched.controller.abort(new WorkflowDeleted(workflowId));
  }
}

function isAnother({ actionIds }: WatchedWorkflow, { actionId }: Watched): boolean {
  return actionIds.length > 0 && !actionIds.includes(actionId);
}
