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

/** Nothing else removes Workflows that the watch never shows. */
const MOST_WATCHED = 20_000;

/** Cancels actions whose Workflow was deleted, or recreated under the same name. */
export class Deletions {
  /** By Workflow, the oldest first. */
  readonly #watched = new Map<string, Watched>();

  /**
   * Aborts when the Workflow of an action is deleted. The watch must have shown it with that action, now or later, so that a
   * stale watch, or one on another cluster, cancels nothing. It may be later than the server serves the action.
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
