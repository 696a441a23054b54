import type { VirtualTime } from "../../../bench/scaling/virtual-time.ts";
import { createWorkflow, isOver, type Workflow } from "../../../simulators/tink/workflow.ts";
import { type Report, WorkflowBoard } from "../../../simulators/tink/workflow-board.ts";
import type { ActionStatus } from "../../../worker/action/action.ts";
import { acknowledgementOfError } from "../../../worker/source/grpc/errors.ts";
import type { Acknowledgement, Poll } from "../../../worker/source/source.ts";
import { pollOfError } from "../../../worker/source/tink/poll-error.ts";

const ACTION = { timeoutSeconds: 60, command: [], onTimeout: [], onFailure: [] };
const SHARED = { volumes: [], environment: {} };

/** A worker remembers what has ended for five minutes: a server that forgets more may have it done again. */
const OLDEST_MS = 2 * 60_000;
const AWAY_MS = 30_000;

export const agentOf = (index: number) => `pbnj-node-0${index + 1}`;

/** `POST` becomes `SUCCESS` in the next turn of the event loop. */
export const hasEnded = (workflow: Workflow) => isOver(workflow) || workflow.state === "POST";

/** The tink server: what it knows, and whether it answers. */
export class FaultServer {
  readonly #time: VirtualTime;
  readonly #board = new WorkflowBoard();
  readonly #ids: readonly string[];
  #kept: { readonly restore: () => void; readonly atMs: number } | undefined;
  #awayUntilMs = 0;
  /** What is on its way, although its sender does not wait for it any more. */
  #late = 0;

  constructor(time: VirtualTime, workflows: readonly (readonly string[])[]) {
    this.#time = time;
    this.#ids = workflows.map((names, index) => {
      const workflow = workflowOf(names, index);
      this.#board.add(workflow);
      return workflow.id;
    });
  }

  get workflows(): readonly Workflow[] {
    return this.#ids.flatMap((id) => this.#board.get(id) ?? []);
  }

  get isAway(): boolean {
    return this.#time.nowMs < this.#awayUntilMs;
  }

  get isQuiet(): boolean {
    return this.#late === 0;
  }

  goAway(): void {
    this.#awayUntilMs = this.#time.nowMs + AWAY_MS;
  }

  /** A backup, which `restore` brings back if it is not too old. */
  keep(): void {
    this.#kept = { restore: this.#board.snapshot(), atMs: this.#time.nowMs };
  }

  restore(): void {
    if (this.#kept && this.#time.nowMs - this.#kept.atMs < OLDEST_MS) this.#kept.restore();
  }

  poll(agentId: string): Poll {
    try {
      const { workflow, task, action } = this.#board.assign(agentId);
      const { id: actionId, name, image, timeoutMs, command, volumes, environment } = action;
      const ids = { workflowId: workflow.id, taskId: task.id, agentId, actionId, name };
      return { kind: "action", action: { ...ids, image, timeoutMs, command, volumes, environment } };
    } catch (thrown) {
      return pollOfError(thrown);
    }
  }

  report(status: ActionStatus): Acknowledgement {
    try {
      this.#board.report(reportOf(status));
      return { kind: "acknowledged" };
    } catch (thrown) {
      return acknowledgementOfError(thrown);
    }
  }

  /** A report that arrives after that time, whatever becomes of its sender. */
  expect(status: ActionStatus, ms: number): void {
    this.#late += 1;
    this.#time.after(ms, () => {
      this.#late -= 1;
      const workflow = this.#board.get(status.action.workflowId);
      // The server would set an ended workflow to RUNNING and then serve it to no worker.
      const isLost = status.state === "running" && (!workflow || hasEnded(workflow));
      if (!isLost) this.report(status);
    });
  }

  close(): void {
    this.#board.close();
  }
}

/** With the same IDs in every run, because a schedule must be repeatable; without a time limit, which the real clock would measure. */
function workflowOf(names: readonly string[], index: number): Workflow {
  const worker = agentOf(index);
  const number = index + 1;
  const actions = names.map((name) => ({ name, image: `registry.example/${name}:v1`, ...ACTION, ...SHARED }));
  const workflow = createWorkflow(`default/workflow-${number}`, {
    version: "0.1",
    name: "t",
    globalTimeoutSeconds: 0,
    tasks: [{ name: "bmc", worker, actions, ...SHARED }],
  });
  const tasks = workflow.tasks.map((task) => ({
    ...task,
    id: `task-${number}`,
    actions: task.actions.map((action, at) => ({ ...action, id: `action-${number}-${at + 1}` })),
  }));
  return { ...workflow, tasks };
}

function reportOf({ action, state, message, startedAt, stoppedAt }: ActionStatus): Report {
  return {
    workflowId: action.workflowId,
    agentId: action.agentId,
    taskId: action.taskId,
    actionId: action.actionId,
    actionName: action.name,
    state: ({ running: "RUNNING", success: "SUCCESS", failed: "FAILED", timeout: "TIMEOUT" } as const)[state],
    startedAt,
    ...(stoppedAt && { stoppedAt }),
    duration: "",
    message,
  };
}
