import { Code, ConnectError } from "@connectrpc/connect";
import { createWorkflow, type Workflow } from "../../../../simulators/tink/workflow.ts";
import { type Report, WorkflowBoard } from "../../../../simulators/tink/workflow-board.ts";
import { LegacyBoard } from "../../../../simulators/tink-legacy/legacy-board.ts";
import { actionMessageOf, contextMessageOf, reportOf } from "../../../../simulators/tink-legacy/server.ts";
import type { ActionStatus } from "../../../../worker/core/action/action.ts";
import type { Acknowledgement, Poll, WorkflowSet } from "../../../../worker/core/ports/source.ts";
import { statusOf } from "../../../../worker/features/legacy/legacy-messages.ts";
import { type LegacyCalls, legacyTransport } from "../../../../worker/features/legacy/legacy-transport.ts";
import { acknowledgementOfError } from "../../../../worker/sources/grpc/grpc-errors.ts";
import { pollOfError } from "../../../../worker/sources/tink/tink-api.ts";

const ACTION = { timeoutSeconds: 60, command: [], onTimeout: [], onFailure: [] };
const SHARED = { volumes: [], environment: {} };
const NEVER = new AbortController().signal;

export const agentOf = (index: number) => `pbnj-node-0${index + 1}`;

/** A tink server's workflows, and what its API answers a worker. */
export interface FaultApi {
  /** It serves an agent ID several workflows at a time. */
  readonly servesSeveral: boolean;
  get(id: string): Workflow | undefined;
  poll(agentId: string, inFlight: WorkflowSet): Poll | Promise<Poll>;
  report(status: ActionStatus): Acknowledgement | Promise<Acknowledgement>;
  /** A report that arrives without its sender. */
  arrive(status: ActionStatus): void;
  /** Deletes a workflow and submits it again, under the same name. */
  recreate(id: string): void;
  snapshot(): (() => void) | undefined;
  close(): void;
}

export function currentApi(workflows: readonly (readonly string[])[], takesReports: () => boolean): FaultApi {
  const board = new WorkflowBoard();
  let runs = 0;
  const create = (names: readonly string[], index: number) => {
    const run = runs >= workflows.length ? `-${runs}` : "";
    runs += 1;
    return workflowOf(names, index, (at) => `action-${index + 1}-${at + 1}${run}`);
  };
  for (const [index, names] of workflows.entries()) board.add(create(names, index));
  const take = (status: ActionStatus): Acknowledgement => {
    try {
      onWire(() => board.report(currentReportOf(status)));
      return { kind: "acknowledged" };
    } catch (thrown) {
      return acknowledgementOfError(thrown);
    }
  };
  const conflict = new ConnectError("error writing report status: conflict", Code.Internal);
  return {
    servesSeveral: false,
    get: (id) => board.get(id),
    poll(agentId) {
      try {
        const { workflow, task, action } = board.assign(agentId);
        const { id: actionId, name, image, timeoutMs, command, volumes, environment } = action;
        const ids = { workflowId: workflow.id, taskId: task.id, agentId, actionId, name };
        return { kind: "action", action: { ...ids, image, timeoutMs, command, volumes, environment } };
      } catch (thrown) {
        return pollOfError(thrown);
      }
    },
    report: (status) => (takesReports() ? take(status) : acknowledgementOfError(conflict)),
    arrive: take,
    recreate(id) {
      const index = indexOf(id);
      const before = board.get(id);
      if (before) board.delete(before);
      board.add(create(workflows[index] ?? [], index));
    },
    snapshot: () => board.snapshot(),
    close: () => board.close(),
  };
}

/** The deprecated API, by the worker's own reading of it. A recreated workflow has the IDs of the one before. */
export function legacyApi(workflows: readonly (readonly string[])[], takesReports: () => boolean): FaultApi {
  const board = new LegacyBoard();
  const create = (names: readonly string[], index: number) =>
    workflowOf(names, index, (at) => `${at}/bmc/${names[at]}`);
  for (const [index, names] of workflows.entries()) board.add(create(names, index));
  const calls: LegacyCalls = {
    contexts: async (agentId) => onWire(() => board.contexts(agentId).map(contextMessageOf)),
    actions: async (workflowId) => onWire(() => board.actions(workflowId).map(actionMessageOf)),
    report: async (status) => {
      if (!takesReports()) throw new ConnectError("invalid workflow id", Code.InvalidArgument);
      onWire(() => board.report(reportOf(status)));
    },
  };
  const { next, report } = legacyTransport(calls);
  return {
    servesSeveral: true,
    get: (id) => board.get(id),
    poll: (agentId, inFlight) => next(agentId, NEVER, inFlight),
    report: (status) => report(status, NEVER),
    arrive: (status) => {
      try {
        board.report(reportOf(statusOf(status)));
      } catch {
        // Its sender does not wait for the answer.
      }
    },
    recreate(id) {
      const index = indexOf(id);
      board.add(create(workflows[index] ?? [], index));
    },
    snapshot: () => undefined,
    close: () => board.close(),
  };
}

export const idOf = (index: number) => `default/workflow-${index + 1}`;
const indexOf = (id: string) => Number(id.slice(id.lastIndexOf("-") + 1)) - 1;

function onWire<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw Object.assign(ConnectError.from(thrown), { isWireError: true });
  }
}

/** With the same IDs in every run, because a schedule must be repeatable; without a time limit, which the real clock would measure. */
function workflowOf(names: readonly string[], index: number, actionIdOf: (at: number) => string): Workflow {
  const worker = agentOf(index);
  const actions = names.map((name) => ({ name, image: `registry.example/${name}:v1`, ...ACTION, ...SHARED }));
  const workflow = createWorkflow(idOf(index), {
    version: "0.1",
    name: "t",
    globalTimeoutSeconds: 0,
    tasks: [{ name: "bmc", worker, actions, ...SHARED }],
  });
  const tasks = workflow.tasks.map((task) => ({
    ...task,
    id: `task-${index + 1}`,
    actions: task.actions.map((action, at) => ({ ...action, id: actionIdOf(at) })),
  }));
  return { ...workflow, tasks };
}

function currentReportOf({ action, state, message, startedAt, stoppedAt }: ActionStatus): Report {
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
