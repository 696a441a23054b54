import { EventEmitter } from "node:events";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ActionState, Workflow, WorkflowAction, WorkflowTask } from "../tink/workflow.ts";

/** The progress of a workflow as the server streams it. */
export interface Context {
  readonly workflow: Workflow;
  readonly worker: string;
  readonly task: string;
  readonly action: string;
  /** The index of the action among those of all tasks. */
  readonly index: number;
  readonly state: ActionState | undefined;
  readonly total: number;
}

/** A report as it was received. */
export interface LegacyReport {
  readonly workflowId: string;
  readonly workerId: string;
  readonly taskName: string;
  readonly actionName: string;
  readonly state: ActionState;
  readonly seconds: number;
  readonly message: string;
}

interface BoardEvents {
  /** Emitted when a workflow has changed. The action is present if a report was about it. */
  change: [{ readonly workflow: Workflow; readonly action?: WorkflowAction }];
}

/** A workflow in the server's cache. */
interface Cached {
  readonly workflow: Workflow;
  readonly state: Workflow["state"];
  readonly actionStates: readonly ActionState[];
}

/**
 * The workflows and the rules of tink-server 0.11 and 0.12 with Kubernetes behind it. The server reads from a cache and
 * writes to the store: a write that is based on an old read conflicts. Refusals are `ConnectError`s with the server's codes
 * and texts; the code is always InvalidArgument.
 */
export class LegacyBoard extends EventEmitter<BoardEvents> {
  readonly #workflows = new Map<string, Workflow>();
  #frozen: readonly Cached[] | undefined;
  /** The state before the last report. */
  #before: readonly Cached[] = [];

  /** Adds a workflow, which replaces one with the same ID. */
  add(workflow: Workflow): void {
    this.#workflows.set(workflow.id, workflow);
    this.emit("change", { workflow });
  }

  get(id: string): Workflow | undefined {
    return this.#workflows.get(id);
  }

  all(): readonly Workflow[] {
    return [...this.#workflows.values()];
  }

  /** Changes a workflow from outside, as a user with kubectl would. */
  set(workflow: Workflow, state: Workflow["state"]): void {
    workflow.state = state;
    this.emit("change", { workflow });
  }

  delete(workflow: Workflow): void {
    this.#workflows.delete(workflow.id);
    this.emit("change", { workflow });
  }

  /** Freezes the server's cache in its current state until `thaw`. */
  freeze(): void {
    this.#frozen = this.all().map(cachedOf);
  }

  /** Sets the server's cache to the state before the last report until `thaw`. */
  lag(): void {
    this.#frozen = this.#before;
  }

  thaw(): void {
    this.#frozen = undefined;
  }

  /** Returns what `GetWorkflowContexts` streams: workflows that are not over and whose current task belongs to the worker. */
  contexts(workerId: string): readonly Context[] {
    if (workerId === "") throw invalid("invalid workflow id");
    return this.#read()
      .filter(({ state }) => state === "PENDING" || state === "RUNNING")
      .filter((cached) => currentTask(cached)?.agentId === workerId)
      .map(contextOf);
  }

  /** Returns the answer to `GetWorkflowActions`. The server passes on the store's error without a code. */
  actions(id: string): readonly { readonly task: WorkflowTask; readonly action: WorkflowAction }[] {
    if (id === "") throw invalid("invalid workflow id");
    const cached = this.#read().find(({ workflow }) => workflow.id === id);
    if (cached === undefined) {
      const name = id.slice(id.indexOf("/") + 1);
      throw new ConnectError(`Workflow.tinkerbell.org ${JSON.stringify(name)} not found`, Code.Unknown);
    }
    return cached.workflow.tasks.flatMap((task) => task.actions.map((action) => ({ task, action })));
  }

  /** Handles a report about the current action regardless of the workflow's state, like the server. */
  report(report: LegacyReport): void {
    if (report.workflowId === "") throw invalid("invalid workflow id");
    if (report.taskName === "") throw invalid("invalid task name");
    if (report.actionName === "") throw invalid("invalid action name");
    const cached = this.#read().find(({ workflow }) => workflow.id === report.workflowId);
    if (cached === undefined) throw invalid("invalid workflow id");
    const { task, action } = contextOf(cached);
    if (report.taskName !== task)
      throw invalid("reported task name does not match the current action details");
    if (report.actionName !== action) {
      throw invalid("reported action name does not match the current action details");
    }
    if (report.state === "PENDING") throw invalid("invalid workflow id");
    const { workflow } = cached;
    // The store refuses a write that is based on an old read.
    if (this.#workflows.get(workflow.id) !== workflow || !isCurrent(cached))
      throw invalid("invalid workflow id");
    this.#before = this.all().map(cachedOf);
    this.#write(workflow, report);
  }

  close(): void {
    this.removeAllListeners();
  }

  #read(): readonly Cached[] {
    return this.#frozen ?? this.all().map(cachedOf);
  }

  #write(workflow: Workflow, { state, message }: LegacyReport): void {
    const actions = actionsOf(workflow);
    const index = actions.findIndex((each) => each.state !== "SUCCESS");
    const action = actions[index];
    if (action === undefined) throw new Error("a workflow with a current action has one");
    action.state = state;
    action.message = message;
    if (state === "RUNNING") action.startedAt = new Date();
    else action.stoppedAt = new Date();
    if (state !== "SUCCESS") workflow.state = state;
    else if (index === actions.length - 1) workflow.state = "POST";
    this.emit("change", { workflow, action });
    // The controller reconciles the workflow.
    if (workflow.state === "POST") setImmediate(() => this.set(workflow, "SUCCESS"));
  }
}

function cachedOf(workflow: Workflow): Cached {
  return { workflow, state: workflow.state, actionStates: actionsOf(workflow).map(({ state }) => state) };
}

function isCurrent({ workflow, state, actionStates }: Cached): boolean {
  const now = cachedOf(workflow);
  return now.state === state && now.actionStates.every((each, index) => each === actionStates[index]);
}

function actionsOf({ tasks }: Workflow): readonly WorkflowAction[] {
  return tasks.flatMap(({ actions }) => actions);
}

/** Returns the task of the first action that has not succeeded, or the first task if there is none, like the server. */
function currentTask({ workflow, actionStates }: Cached): WorkflowTask | undefined {
  const current = actionsOf(workflow)[indexOf(actionStates)];
  return workflow.tasks.find(({ actions }) => actions.some((each) => each === current)) ?? workflow.tasks[0];
}

function contextOf(cached: Cached): Context {
  const { workflow, actionStates } = cached;
  const index = indexOf(actionStates);
  const action = actionsOf(workflow)[index];
  const task = action && currentTask(cached);
  return {
    workflow,
    worker: task?.agentId ?? "",
    task: task?.name ?? "",
    action: action?.name ?? "",
    index,
    state: actionStates[index],
    total: actionStates.length,
  };
}

/** Returns the index of the first action that has not succeeded, or the number of actions. */
function indexOf(states: readonly ActionState[]): number {
  const index = states.findIndex((state) => state !== "SUCCESS");
  return index < 0 ? states.length : index;
}

function invalid(text: string): ConnectError {
  return new ConnectError(text, Code.InvalidArgument);
}
