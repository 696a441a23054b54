import { EventEmitter } from "node:events";
import { Code, ConnectError } from "@connectrpc/connect";
import { WaitingCalls } from "./waiting-calls.ts";
import type { ActionState, Workflow, WorkflowAction, WorkflowTask } from "./workflow.ts";

/** An action to serve, with its workflow and task. */
export interface Assignment {
  readonly workflow: Workflow;
  readonly task: WorkflowTask;
  readonly action: WorkflowAction;
}

/** A report as it was received. */
export interface Report {
  readonly workflowId: string;
  readonly agentId: string;
  readonly taskId: string;
  readonly actionId: string;
  readonly actionName: string;
  readonly state: ActionState;
  readonly startedAt?: Date;
  readonly stoppedAt?: Date;
  readonly duration: string;
  readonly message: string;
}

interface BoardEvents {
  /** Emitted when a workflow has changed. The action is present if a report was about it. */
  change: [{ readonly workflow: Workflow; readonly action?: WorkflowAction }];
}

/**
 * The workflows, the rules by which tink-server serves and changes them, and the part of the controller that advances them:
 * the next task's agent, POST to SUCCESS, the global timeout. Refusals are `ConnectError`s with the server's codes and
 * texts.
 */
export class WorkflowBoard extends EventEmitter<BoardEvents> {
  readonly #workflows = new Map<string, Workflow>();
  /** The workflows by agent, in the order in which they were assigned to it. */
  readonly #byAgent = new Map<string, Set<Workflow>>();
  readonly #timers = new Map<Workflow, NodeJS.Timeout>();
  readonly #waiting = { agents: new WaitingCalls(), workflows: new WaitingCalls() };

  /** Adds a workflow, which replaces one with the same ID. */
  add(workflow: Workflow): void {
    const before = this.#workflows.get(workflow.id);
    if (before) this.#takeFrom(before, before.agentId);
    this.#workflows.set(workflow.id, workflow);
    this.#assignTo(workflow, workflow.agentId);
    this.#changed({ workflow });
  }

  get(id: string): Workflow | undefined {
    return this.#workflows.get(id);
  }

  all(): readonly Workflow[] {
    return [...this.#workflows.values()];
  }

  /** Changes a workflow from outside, as a user with kubectl would. */
  set(workflow: Workflow, change: Partial<Pick<Workflow, "state" | "agentId">>): void {
    const { agentId } = workflow;
    Object.assign(workflow, change);
    if (workflow.agentId !== agentId) {
      this.#takeFrom(workflow, agentId);
      this.#assignTo(workflow, workflow.agentId);
    }
    this.#changed({ workflow }, agentId);
  }

  /** Deletes a workflow, even while a worker runs its action. */
  delete(workflow: Workflow): void {
    clearTimeout(this.#timers.get(workflow));
    this.#workflows.delete(workflow.id);
    this.#takeFrom(workflow, workflow.agentId);
    this.#changed({ workflow });
  }

  /** Saves the current state. The returned function restores it and discards later changes. */
  snapshot(): () => void {
    const kept = this.all().map((workflow) => structuredClone(workflow));
    return () => {
      for (const workflow of this.all()) this.delete(workflow);
      for (const workflow of structuredClone(kept)) {
        this.add(workflow);
        this.#reconcile(workflow);
      }
    };
  }

  /** Resolves when the answer to `agentId` may have changed, or when the signal aborts. */
  untilAgentConcerned(agentId: string, signal: AbortSignal): Promise<void> {
    return this.#waiting.agents.wait(agentId, signal);
  }

  /** Resolves when the workflow with that ID has changed, or when the signal aborts. */
  untilWorkflowChanged(id: string, signal: AbortSignal): Promise<void> {
    return this.#waiting.workflows.wait(id, signal);
  }

  /** Returns the current answer of `GetAction` to `agentId`. */
  assign(agentId: string): Assignment {
    if (agentId === "") throw new ConnectError("invalid Agent ID", Code.InvalidArgument);
    const mine = [...(this.#byAgent.get(agentId) ?? [])];
    if (mine.length === 0) throw new ConnectError("no Workflows found", Code.NotFound);
    // The real order is that of a cache, so any order is possible. With live workflows first, none starves.
    const workflow = [...mine.filter(isLive), ...mine].find(({ tasks }) => tasks.length > 0);
    if (workflow === undefined) throw new ConnectError("no Tasks found in Workflow", Code.NotFound);
    if (workflow.state === "PREPARING") {
      throw new ConnectError("Workflow is in preparing state", Code.FailedPrecondition);
    }
    if (!isLive(workflow)) {
      throw new ConnectError("Workflow not in pending or running state", Code.FailedPrecondition);
    }
    const task = currentTask(workflow);
    const action = nextAction(workflow, task);
    if (task.agentId !== agentId) throw new ConnectError("Task not assigned to Agent", Code.NotFound);
    workflow.current = { taskId: task.id, actionId: action.id, state: action.state };
    return { workflow, task, action };
  }

  /** Handles a report unconditionally, like the server. */
  report(report: Report): void {
    if (report.workflowId === "") throw new ConnectError("invalid workflow id", Code.InvalidArgument);
    if (report.taskId === "") throw new ConnectError("invalid task name", Code.InvalidArgument);
    if (report.actionId === "") throw new ConnectError("invalid action name", Code.InvalidArgument);
    const workflow = this.#workflows.get(report.workflowId);
    if (workflow === undefined) {
      // The Go server joins two errors, and its gRPC library sends the joined text.
      const text = `error getting workflow: failed to get workflow ${report.workflowId}: not found`;
      throw new ConnectError(
        `error reading from backend\nrpc error: code = Internal desc = ${text}`,
        Code.Internal,
      );
    }
    const action = workflow.tasks
      .filter((task) => task.agentId === report.agentId)
      .flatMap((task) => task.actions)
      .find(({ id }) => id === report.actionId);
    if (action === undefined) throw new ConnectError("action not found", Code.NotFound);
    record(action, report);
    if (report.state !== "SUCCESS") workflow.state = report.state;
    else if (action === workflow.tasks.at(-1)?.actions.at(-1)) workflow.state = "POST";
    workflow.current = { taskId: report.taskId, actionId: report.actionId, state: report.state };
    this.#changed({ workflow, action });
    setImmediate(() => this.#reconcile(workflow));
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.removeAllListeners();
  }

  #assignTo(workflow: Workflow, agentId: string): void {
    const workflows = this.#byAgent.get(agentId) ?? new Set();
    this.#byAgent.set(agentId, workflows.add(workflow));
  }

  #takeFrom(workflow: Workflow, agentId: string): void {
    const workflows = this.#byAgent.get(agentId);
    workflows?.delete(workflow);
    if (workflows?.size === 0) this.#byAgent.delete(agentId);
  }

  #changed(change: BoardEvents["change"][0], agentBefore?: string): void {
    const { id, agentId } = change.workflow;
    this.emit("change", change);
    this.#waiting.workflows.wake(id);
    this.#waiting.agents.wake(agentId);
    if (agentBefore !== undefined && agentBefore !== agentId) this.#waiting.agents.wake(agentBefore);
  }

  /** Does what the controller does after a change. */
  #reconcile(workflow: Workflow): void {
    if (workflow.state === "POST") this.set(workflow, { state: "SUCCESS" });
    if (workflow.state !== "RUNNING" || this.#workflows.get(workflow.id) !== workflow) return;
    if (workflow.deadline !== undefined && Date.now() > workflow.deadline) {
      this.set(workflow, { state: "TIMEOUT" });
      return;
    }
    this.#startGlobalTimeout(workflow);
    const agentId = agentOfNextTask(workflow);
    if (agentId !== undefined && agentId !== workflow.agentId) this.set(workflow, { agentId });
  }

  /**
   * Starts the global timeout at the first action's actual start. A report without a start time leaves 1970, which never
   * times out. 0 means no limit here, whereas the real controller would end the workflow at once.
   */
  #startGlobalTimeout(workflow: Workflow): void {
    const first = workflow.tasks[0]?.actions[0];
    if (workflow.deadline !== undefined || workflow.globalTimeoutSeconds === 0) return;
    if (first?.startedAt === undefined || workflow.current?.actionId !== first.id) return;
    const remainingMs = workflow.globalTimeoutSeconds * 1_000;
    workflow.deadline = Date.now() + remainingMs;
    // One millisecond more, because a timer may fire up to one too early.
    const timer = setTimeout(() => this.#reconcile(workflow), remainingMs + 2);
    this.#timers.set(workflow, timer.unref());
  }
}

function isLive(workflow: Workflow): boolean {
  return workflow.state === "PENDING" || workflow.state === "RUNNING";
}

function currentTask(workflow: Workflow): WorkflowTask {
  const task = workflow.tasks.find(
    ({ actions }) => actions.at(-1)?.state !== "SUCCESS" && actions.length > 0,
  );
  if (task === undefined) throw new ConnectError("no Tasks found", Code.NotFound);
  return task;
}

function nextAction({ current }: Workflow, { actions }: WorkflowTask): WorkflowAction {
  const [first] = actions;
  if (first?.state === "PENDING") return first;
  const at = actions.findIndex(({ id }) => id === current?.actionId);
  const inProgress = current?.state === "RUNNING" || current?.state === "PENDING";
  if (!inProgress && current?.state !== "SUCCESS") {
    throw new ConnectError("current Action not in success state", Code.FailedPrecondition);
  }
  const action = at < 0 ? undefined : actions[inProgress ? at : at + 1];
  if (action === undefined) throw new ConnectError("no Action found", Code.NotFound);
  return action;
}

function agentOfNextTask({ tasks, current }: Workflow): string | undefined {
  const at = tasks.findIndex(({ id }) => id === current?.taskId);
  const done = at >= 0 && tasks[at]?.actions.every(({ state }) => state === "SUCCESS");
  const next = tasks[at + 1];
  return done && next?.actions[0]?.state === "PENDING" ? next.agentId : undefined;
}

function record(action: WorkflowAction, report: Report): void {
  action.state = report.state;
  action.message = report.message;
  action.duration = report.duration;
  delete action.startedAt;
  delete action.stoppedAt;
  if (report.startedAt) action.startedAt = report.startedAt;
  if (report.stoppedAt) action.stoppedAt = report.stoppedAt;
}
