import { z } from "zod";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { fieldsOf } from "../../core/action/action.ts";
import type { ActionEvent, Observer } from "../../core/action/observer.ts";
import type { WorkflowProblem } from "../../explain/workflow-review.ts";

export interface ReportedEndsOptions {
  /** Whether the watch works and shows the Workflow now. */
  readonly isShown: (workflowId: string) => boolean;
  /** The signal that ends the watch; undefined before it runs. */
  readonly stop: () => AbortSignal | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The states of an action and its Workflow, as the cluster shows them. */
interface Shown {
  readonly actionId: string;
  states?: { readonly action: string; readonly workflow: string } | undefined;
}

const Workflow = z.object({
  metadata: z.object({ namespace: z.string(), name: z.string() }),
  status: z.object({
    state: z.string().catch(""),
    tasks: z.array(z.object({ actions: z.array(z.object({ id: z.string(), state: z.string() })) })),
  }),
});

/** The watch shows an acknowledged report within this time. */
const SHOWN_WITHIN_MS = 10_000;
const MOST_ACTIONS = 20_000;
const MOST_PROBLEMS = 100;

/**
 * Compares acknowledged reports with what the cluster shows. A server may acknowledge the report of a Workflow that has
 * already ended, and change nothing.
 */
export class ReportedEnds {
  readonly #options: ReportedEndsOptions;
  /** The action that runs in each Workflow, by the Workflow's ID. */
  readonly #shown = new Map<string, Shown>();

  constructor(options: ReportedEndsOptions) {
    this.#options = options;
  }

  readonly #problems: WorkflowProblem[] = [];

  readonly observer: Observer = {
    action: (event) => {
      const { workflowId, actionId } = event.action;
      if (event.kind === "started" && this.#shown.size < MOST_ACTIONS) {
        this.#shown.set(workflowId, { actionId });
      } else if (event.kind === "returned") this.#forget(workflowId, actionId);
      else if (event.kind === "reported" && event.delivery !== "rejected") void this.#compare(event);
    },
  };

  /** The latest reports that changed nothing, of Workflows that still exist. */
  problems(): readonly WorkflowProblem[] {
    return this.#problems.filter(({ workflow }) => this.#options.isShown(workflow));
  }

  /** Takes the version of a Workflow that the watch shows. */
  see(object: unknown): void {
    if (this.#shown.size === 0) return;
    const { data } = Workflow.safeParse(object);
    const shown = data && this.#shown.get(`${data.metadata.namespace}/${data.metadata.name}`);
    if (!shown) return;
    const found = data.status.tasks.flatMap(({ actions }) => actions).find(({ id }) => id === shown.actionId);
    shown.states = found && { action: found.state, workflow: data.status.state };
  }

  async #compare({ action, delivery, status }: ActionEvent & { readonly kind: "reported" }): Promise<void> {
    const { clock, isShown, log, stop } = this.#options;
    const { workflowId, actionId } = action;
    const shown = this.#shown.get(workflowId);
    if (shown?.actionId !== actionId) return;
    const isAcknowledged = delivery === "acknowledged";
    if (isAcknowledged) await clock.sleep(SHOWN_WITHIN_MS, stop()).catch(() => undefined);
    this.#forget(workflowId, actionId);
    const { states } = shown;
    if (!isAcknowledged || stop()?.aborted || !status || !states || !isShown(workflowId)) return;
    if (states.action === status.state.toUpperCase()) return;
    const fields = { ...fieldsOf(action), state: status.state, shown: states.action };
    log.warn(
      { ...fields, workflowState: states.workflow },
      "report acknowledged, but the server changed nothing",
    );
    const reason = `reported ${status.state}, but the server shows ${states.action} (Workflow ${states.workflow})`;
    this.#problems.push({ workflow: workflowId, task: action.taskId, action: action.name, reason });
    if (this.#problems.length > MOST_PROBLEMS) this.#problems.shift();
  }

  #forget(workflowId: string, actionId: string): void {
    if (this.#shown.get(workflowId)?.actionId === actionId) this.#shown.delete(workflowId);
  }
}
