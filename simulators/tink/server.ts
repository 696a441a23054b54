import { create } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  type ActionResponse,
  ActionResponseSchema,
  type ActionStatusRequest,
  type AgentAttributes,
  WorkflowService,
} from "../../worker/sources/tink/gen/workflow_pb.ts";
import { Faults } from "./faults.ts";
import { Listener, type ServerTls } from "./listener.ts";
import { unimplemented } from "./unimplemented.ts";
import type { ActionState, Workflow } from "./workflow.ts";
import { type Assignment, type Report, WorkflowBoard } from "./workflow-board.ts";
import { type WorkflowServer, workflowServer } from "./workflow-server.ts";

export interface TinkServerOptions {
  readonly host?: string;
  /** The port. Defaults to 0, which takes a free one. */
  readonly port?: number;
  readonly tls?: ServerTls;
  /** The number of simultaneous calls on a connection. Unlimited by default. */
  readonly maxConcurrentStreams?: number;
  /** How long an unsuccessful call is held before its error is returned. */
  readonly holdMs?: number;
  /**
   * Called with each poll. The function that it returns is called at the end of the poll, with whether the caller cancelled
   * it.
   */
  readonly onPoll?: (agentId: string) => (isCancelled: boolean) => void;
  /** Called before an action is sent. `askedMs` is when its poll arrived, in the time of `performance.now`. */
  readonly onServed?: (assignment: Assignment, askedMs: number) => void;
}

/** A simulated tink-server with its controller. */
export interface TinkServer extends WorkflowServer {
  /** Emits `change` for every change of a workflow. */
  readonly board: WorkflowBoard;
  readonly faults: Faults;
  /** Every report that reached the server in order, including refused ones. */
  readonly reports: readonly Report[];
  /** The agent ID of every `GetAction` call in order. */
  readonly polls: readonly string[];
  /** The machine attributes in the last poll of each agent ID. */
  readonly attributes: ReadonlyMap<string, AgentAttributes | undefined>;
  workflow(id: string): Workflow | undefined;
}

const HOLD_MS = 60_000;

export async function startTinkServer(options: TinkServerOptions = {}): Promise<TinkServer> {
  const host = options.host ?? "127.0.0.1";
  const board = new WorkflowBoard();
  const faults = new Faults();
  const reports: Report[] = [];
  const polls: string[] = [];
  const attributes = new Map<string, AgentAttributes | undefined>();
  const served = new Map<string, Assignment>();
  let stopping = new AbortController();
  const hold: Hold = {
    holdMs: options.holdMs ?? HOLD_MS,
    get stopping() {
      return stopping.signal;
    },
  };

  const routes = (router: ConnectRouter) =>
    router.service(WorkflowService, {
      async getAction({ agentId, agentAttributes }, { signal }) {
        polls.push(agentId);
        attributes.set(agentId, agentAttributes);
        const askedMs = performance.now();
        const onEnd = options.onPoll?.(agentId);
        try {
          await faults.apply("GetAction", "before", signal);
          const changed: Change = (until) => board.untilAgentConcerned(agentId, until);
          const cached = served.get(agentId);
          if (cached && faults.takeStale()) return responseOf(cached);
          const assignment = await held(hold, signal, changed, () => board.assign(agentId));
          served.set(agentId, assignment);
          options.onServed?.(assignment, askedMs);
          return responseOf(assignment);
        } finally {
          onEnd?.(signal.aborted);
        }
      },
      async reportActionStatus(request, { signal }) {
        const report = reportOf(request);
        reports.push(report);
        await faults.apply("ReportActionStatus", "before", signal);
        const changed: Change = (until) => board.untilWorkflowChanged(report.workflowId, until);
        await held(hold, signal, changed, () => board.report(report));
        await faults.apply("ReportActionStatus", "after", signal);
        await faults.holdIfAsked(report, signal);
        return {};
      },
    });
  const listener = new Listener(
    { ...options, host, port: options.port ?? 0 },
    connectNodeAdapter({ routes, grpcWeb: false, connect: false, fallback: unimplemented }),
  );
  await listener.start();

  const server = workflowServer(board, listener, host);
  const { stop, start } = server;
  return Object.assign(server, {
    board,
    faults,
    reports,
    polls,
    attributes,
    workflow: (id: string) => board.get(id),
    stop: async (how?: "cut" | "orderly") => {
      stopping.abort();
      await stop(how);
    },
    start: async () => {
      stopping = new AbortController();
      await start();
    },
  });
}

interface Hold {
  readonly holdMs: number;
  readonly stopping: AbortSignal;
}

/** Resolves when the subject of a call has changed, or when the signal aborts. */
type Change = (until: AbortSignal) => Promise<void>;

/** Holds a call: the server retries until its hold ends what it would refuse. The simulator tries again after every change. */
async function held<T>(hold: Hold, signal: AbortSignal, changed: Change, work: () => T): Promise<T> {
  const over = AbortSignal.any([signal, hold.stopping, AbortSignal.timeout(hold.holdMs)]);
  for (;;) {
    if (hold.stopping.aborted) throw new ConnectError("server shutting down", Code.Unavailable);
    try {
      return work();
    } catch (refusal) {
      await changed(over);
      if (over.aborted && !hold.stopping.aborted) throw refusal;
    }
  }
}

function responseOf({ workflow, task, action }: Assignment): ActionResponse {
  const { networkNamespace, pidNamespace } = action;
  const namespaced = networkNamespace !== undefined || pidNamespace !== undefined;
  return create(ActionResponseSchema, {
    workflowId: workflow.id,
    taskId: task.id,
    agentId: task.agentId,
    actionId: action.id,
    name: action.name,
    image: action.image,
    timeout: BigInt(action.timeoutMs / 1_000),
    command: [...action.command],
    volumes: [...action.volumes],
    environment: Object.entries(action.environment).map(([key, value]) => `${key}=${value}`),
    pid: pidNamespace ?? "",
    ...(namespaced ? { namespaces: { network: networkNamespace ?? "", pid: pidNamespace ?? "" } } : {}),
  });
}

function reportOf(request: ActionStatusRequest): Report {
  return {
    workflowId: request.workflowId,
    agentId: request.agentId,
    taskId: request.taskId,
    actionId: request.actionId,
    actionName: request.actionName,
    state: stateOf(request.actionState),
    duration: request.executionDuration,
    message: request.message?.message ?? "",
    ...(request.executionStart ? { startedAt: timestampDate(request.executionStart) } : {}),
    ...(request.executionStop ? { stoppedAt: timestampDate(request.executionStop) } : {}),
  };
}

/** The states in the order of their numbers. */
const STATES: readonly ActionState[] = ["UNSPECIFIED", "PENDING", "RUNNING", "FAILED", "TIMEOUT", "SUCCESS"];

function stateOf(number: number): ActionState {
  const state = STATES[number];
  if (state === undefined) throw new ConnectError(`no action state ${number}`, Code.InvalidArgument);
  return state;
}
