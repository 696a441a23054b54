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
} from "../../worker/source/tink/gen/workflow_pb.ts";
import { parseTemplate } from "../../worker/template/parse-template.ts";
import { untilWorkflows } from "../until.ts";
import { Faults } from "./faults.ts";
import { Listener, type ServerTls } from "./listener.ts";
import { unimplemented } from "./unimplemented.ts";
import { type ActionState, createWorkflow, type Workflow } from "./workflow.ts";
import { type Assignment, type Report, WorkflowBoard } from "./workflow-board.ts";

export interface TinkServerOptions {
  readonly host?: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  readonly tls?: ServerTls;
  /** How many calls a connection may hold at once; by default any number. */
  readonly maxConcurrentStreams?: number;
  /** How long a call that cannot be answered well is held before its error is returned. */
  readonly holdMs?: number;
  /** Called before an action is sent; `askedMs` is when its poll arrived, as `performance.now` has it. */
  readonly onServed?: (assignment: Assignment, askedMs: number) => void;
}

export interface Submission {
  /** By default `workflow-1` and so on. */
  readonly name?: string;
  /** By default `default`. */
  readonly namespace?: string;
  readonly template: string;
  readonly values?: Readonly<Record<string, string>>;
}

/** A simulated tink-server with its controller. */
export interface TinkServer {
  readonly port: number;
  /** `host:port`. */
  readonly address: string;
  /** Emits `change` for everything that happens to a workflow. */
  readonly board: WorkflowBoard;
  readonly faults: Faults;
  /** Every report that reached the server, also those it refused, in order. */
  readonly reports: readonly Report[];
  /** The agent ID of every `GetAction` call, in order. */
  readonly polls: readonly string[];
  /** What the last poll of each agent ID reported of its machine. */
  readonly attributes: ReadonlyMap<string, AgentAttributes | undefined>;
  readonly connections: { readonly accepted: number; readonly open: number };
  /** Throws when the template is not sound, with every problem in the message. */
  submit(submission: Submission): Workflow;
  workflows(): readonly Workflow[];
  workflow(id: string): Workflow | undefined;
  /** Resolves when the condition holds. Rejects after `timeoutMs`. */
  until(condition: () => boolean, timeoutMs?: number): Promise<void>;
  dropConnections(how?: "goaway" | "destroy"): void;
  /** Stops listening and cuts all connections, or ends them with an answer to every call. Workflows stay. */
  stop(how?: "cut" | "orderly"): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const HOLD_MS = 60_000;
const UNTIL_TIMEOUT_MS = 60_000;

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
        await faults.apply("GetAction", "before", signal);
        const changed: Change = (until) => board.untilAgentConcerned(agentId, until);
        const cached = served.get(agentId);
        if (cached && faults.takeStale()) return responseOf(cached);
        const assignment = await held(hold, signal, changed, () => board.assign(agentId));
        served.set(agentId, assignment);
        options.onServed?.(assignment, askedMs);
        return responseOf(assignment);
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

  return {
    board,
    faults,
    reports,
    polls,
    attributes,
    get port() {
      return listener.port;
    },
    get address() {
      return `${host.includes(":") ? `[${host}]` : host}:${listener.port}`;
    },
    get connections() {
      return listener.connections;
    },
    submit({ name = `workflow-${board.all().length + 1}`, namespace = "default", template, values = {} }) {
      const parsed = parseTemplate(template, values);
      if (!parsed.ok) {
        const lines = parsed.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
        throw new Error(`the template of ${name} is not sound:\n${lines.join("\n")}`);
      }
      const workflow = createWorkflow(`${namespace}/${name}`, parsed.template);
      board.add(workflow);
      return workflow;
    },
    workflows: () => board.all(),
    workflow: (id) => board.get(id),
    until: (condition, timeoutMs = UNTIL_TIMEOUT_MS) => untilWorkflows(board, condition, timeoutMs),
    dropConnections: (how = "destroy") => listener.dropConnections(how),
    async stop(how = "cut") {
      stopping.abort();
      await listener.stop(how);
    },
    async start() {
      stopping = new AbortController();
      await listener.start();
    },
    async close() {
      await listener.stop("cut");
      board.close();
    },
  };
}

interface Hold {
  readonly holdMs: number;
  readonly stopping: AbortSignal;
}

/** Resolves when what a call is about changed, or when the signal aborts. */
type Change = (until: AbortSignal) => Promise<void>;

/** The server retries whatever it would refuse until its hold ends; here it looks again at every change. */
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

/** In the order of their numbers. */
const STATES: readonly ActionState[] = ["UNSPECIFIED", "PENDING", "RUNNING", "FAILED", "TIMEOUT", "SUCCESS"];

function stateOf(number: number): ActionState {
  const state = STATES[number];
  if (state === undefined) throw new ConnectError(`no action state ${number}`, Code.InvalidArgument);
  return state;
}
