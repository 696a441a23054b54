import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  State,
  WorkflowActionSchema,
  type WorkflowActionStatus,
  WorkflowContextSchema,
  WorkflowService,
} from "../../worker/features/legacy/gen/workflow_pb.ts";
import { Faults, type Method } from "../tink/faults.ts";
import { Listener } from "../tink/listener.ts";
import { unimplemented } from "../tink/unimplemented.ts";
import type { ActionState } from "../tink/workflow.ts";
import { type WorkflowServer, workflowServer } from "../tink/workflow-server.ts";
import { type Context, LegacyBoard, type LegacyReport } from "./legacy-board.ts";

export interface LegacyTinkServerOptions {
  readonly host?: string;
  /** The port. Defaults to 0, which takes a free one. */
  readonly port?: number;
  /** The number of simultaneous calls on a connection. Unlimited by default. */
  readonly maxConcurrentStreams?: number;
}

/** A call as it was received. `about` is the worker ID or the workflow ID in it. */
interface Call {
  readonly method: Method;
  readonly about: string;
}

/**
 * A simulated tink-server with the deprecated API. Like the real one it has no TLS. A submitted workflow replaces one with
 * the same name.
 */
export interface LegacyTinkServer extends WorkflowServer {
  readonly board: LegacyBoard;
  readonly faults: Faults;
  /** Every report that reached the server in order, including refused ones. */
  readonly reports: readonly LegacyReport[];
  readonly calls: readonly Call[];
}

export async function startLegacyTinkServer(
  options: LegacyTinkServerOptions = {},
): Promise<LegacyTinkServer> {
  const host = options.host ?? "127.0.0.1";
  const board = new LegacyBoard();
  const faults = new Faults();
  const reports: LegacyReport[] = [];
  const calls: Call[] = [];

  const routes = (router: ConnectRouter) =>
    router.service(WorkflowService, {
      async *getWorkflowContexts({ workerId }, { signal }) {
        calls.push({ method: "GetWorkflowContexts", about: workerId });
        await faults.apply("GetWorkflowContexts", "before", signal);
        for (const context of board.contexts(workerId)) yield contextMessageOf(context);
      },
      async getWorkflowActions({ workflowId }, { signal }) {
        calls.push({ method: "GetWorkflowActions", about: workflowId });
        await faults.apply("GetWorkflowActions", "before", signal);
        return { actionList: board.actions(workflowId).map(actionMessageOf) };
      },
      async reportActionStatus(request, { signal }) {
        const report = reportOf(request);
        calls.push({ method: "ReportActionStatus", about: report.workflowId });
        reports.push(report);
        await faults.apply("ReportActionStatus", "before", signal);
        board.report(report);
        await faults.apply("ReportActionStatus", "after", signal);
        return {};
      },
    });
  const listener = new Listener(
    { ...options, host, port: options.port ?? 0 },
    connectNodeAdapter({ routes, grpcWeb: false, connect: false, fallback: unimplemented }),
  );
  await listener.start();

  return Object.assign(workflowServer(board, listener, host), { board, faults, reports, calls });
}

export function contextMessageOf({ workflow, worker, task, action, index, state, total }: Context) {
  return create(WorkflowContextSchema, {
    workflowId: workflow.id,
    currentWorker: worker,
    currentTask: task,
    currentAction: action,
    currentActionIndex: BigInt(index),
    currentActionState: state === undefined ? State.PENDING : NUMBERS[state],
    totalNumberOfActions: BigInt(total),
  });
}

export function actionMessageOf({ task, action }: ReturnType<LegacyBoard["actions"]>[number]) {
  return create(WorkflowActionSchema, {
    taskName: task.name,
    name: action.name,
    image: action.image,
    timeout: BigInt(action.timeoutMs / 1_000),
    command: [...action.command],
    onTimeout: [...(action.onTimeout ?? [])],
    onFailure: [...(action.onFailure ?? [])],
    workerId: task.agentId,
    volumes: [...action.volumes],
    environment: Object.entries(action.environment).map(([key, value]) => `${key}=${value}`),
    pid: action.pidNamespace ?? "",
  });
}

export function reportOf(request: WorkflowActionStatus): LegacyReport {
  const state = NAMES[request.actionStatus];
  if (state === undefined) throw new ConnectError("invalid workflow id", Code.InvalidArgument);
  return {
    workflowId: request.workflowId,
    workerId: request.workerId,
    taskName: request.taskName,
    actionName: request.actionName,
    state,
    seconds: Number(request.seconds),
    message: request.message,
  };
}

const NAMES: Readonly<Record<State, ActionState>> = {
  [State.PENDING]: "PENDING",
  [State.RUNNING]: "RUNNING",
  [State.FAILED]: "FAILED",
  [State.TIMEOUT]: "TIMEOUT",
  [State.SUCCESS]: "SUCCESS",
};

const NUMBERS: Readonly<Record<ActionState, State>> = {
  UNSPECIFIED: State.PENDING,
  PENDING: State.PENDING,
  RUNNING: State.RUNNING,
  FAILED: State.FAILED,
  TIMEOUT: State.TIMEOUT,
  SUCCESS: State.SUCCESS,
};
