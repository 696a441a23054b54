import type { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { FakeCluster } from "../../simulators/kubernetes/cluster.ts";
import { startTinkServer, type TinkServerOptions } from "../../simulators/tink/server.ts";
import {
  createWorkflow,
  isOver,
  type Workflow,
  type WorkflowAction,
} from "../../simulators/tink/workflow.ts";
import type { WorkflowServer } from "../../simulators/tink/workflow-server.ts";
import { startLegacyTinkServer } from "../../simulators/tink-legacy/server.ts";
import { parseTemplate } from "../../worker/template/parse-template.ts";

export const HostReady = z.object({
  kind: z.literal("ready"),
  address: z.string(),
  /** The text of a file, where there is a cluster with the Workflows. */
  kubeconfig: z.string().optional(),
});

/** What makes the program have a cluster as well. */
export const WITH_CLUSTER = "with-cluster";
/** What makes the program serve the legacy API. */
export const LEGACY_API = "legacy-api";

/** Asks what has come so far: polls, of how many agent IDs, and of a simulated server reports and connections. */
export const AskLoad = z.object({ kind: z.literal("ask-load") });
export const ServerLoad = z.object({
  kind: z.literal("load"),
  agentIds: z.int(),
  polls: z.int(),
  reports: z.int().default(0),
  connections: z.int().default(0),
});
export type ServerLoad = z.infer<typeof ServerLoad>;

/** Stops the server, and starts it again after that time. */
export const Outage = z.object({ kind: z.literal("outage"), ms: z.number() });
export const OutageOver = z.object({ kind: z.literal("outage-over") });

/** One workflow for each agent ID, made ready first and then submitted `everyMs` apart, 0 at once. */
export const Submit = z.object({
  kind: z.literal("submit"),
  batch: z.string(),
  /** With `{{ .agent }}` for the agent ID. */
  template: z.string(),
  agentIds: z.array(z.string()),
  everyMs: z.number(),
});
export type Submit = z.infer<typeof Submit>;

/** When the server saw what of an action, in milliseconds of its own clock, which starts with the batch. */
export const ActionTimes = z.object({
  agentId: z.string(),
  name: z.string(),
  state: z.string(),
  message: z.string(),
  /** Submitted, or the action before it had ended. */
  readyMs: z.number(),
  /** When the poll that was answered with it arrived, and when it was answered. */
  askedMs: z.number().optional(),
  servedMs: z.number().optional(),
  runningMs: z.number().optional(),
  /** Where a real server is measured: made in the cluster, and the RUNNING report answered. */
  createdMs: z.number().optional(),
  acknowledgedMs: z.number().optional(),
  endedMs: z.number().optional(),
  /** From its start to its end as the worker reported them. */
  tookMs: z.number().optional(),
});
export type ActionTimes = z.infer<typeof ActionTimes>;

/** Every workflow of the batch has ended. */
export const BatchOver = z.object({
  kind: z.literal("over"),
  batch: z.string(),
  /** When the batch's times start, in milliseconds since the epoch. */
  startedAt: z.number(),
  actions: z.array(ActionTimes),
});
export type BatchOver = z.infer<typeof BatchOver>;

/** What is recorded of one action while it runs. */
type Noted = { -readonly [Key in keyof ActionTimes]: ActionTimes[Key] };

/** What the program needs of the server of either API. */
interface TinkServer extends Pick<WorkflowServer, "address" | "connections" | "start" | "stop"> {
  readonly board: EventEmitter<{
    change: [{ readonly workflow: Workflow; readonly action?: WorkflowAction }];
  }> & { add(workflow: Workflow): void; delete(workflow: Workflow): void };
  /** The agent ID of each poll. */
  polls(): readonly string[];
  reports(): number;
}

/** The program: a tink server that answers polls as the real one does. It ends with the process that started it. */
if (import.meta.main) {
  const noted = new Map<string, Noted>();
  let startMs = performance.now();
  const server = process.argv.includes(LEGACY_API)
    ? await legacyServer()
    : await currentServer(({ action }, askedMs) => {
        const times = noted.get(action.id);
        if (!times) return;
        times.askedMs ??= askedMs - startMs;
        times.servedMs ??= performance.now() - startMs;
      });
  const cluster = process.argv.includes(WITH_CLUSTER) ? await FakeCluster.start() : undefined;

  server.board.on("change", ({ workflow, action }) => {
    const times = action && noted.get(action.id);
    if (!action || !times) return;
    const nowMs = performance.now() - startMs;
    times.state = action.state;
    times.message = action.message;
    if (action.state === "RUNNING") {
      times.runningMs ??= nowMs;
      return;
    }
    times.endedMs ??= nowMs;
    if (action.startedAt && action.stoppedAt) {
      times.tookMs = action.stoppedAt.getTime() - action.startedAt.getTime();
    }
    const actions = workflow.tasks.flatMap((task) => task.actions);
    const next = actions[actions.indexOf(action) + 1];
    const after = next && noted.get(next.id);
    if (after) after.readyMs = nowMs;
  });

  const run = async ({ batch, template, agentIds, everyMs }: Submit) => {
    const workflows = agentIds.map((agent, index) => {
      const parsed = parseTemplate(template, { agent });
      if (!parsed.ok) throw new Error(parsed.problems.map(({ message }) => message).join("; "));
      return createWorkflow(`default/${batch}-${index}`, parsed.template);
    });
    const actions = workflows.flatMap((workflow) => note(workflow));
    const ready = (workflow: Workflow) => {
      const [first] = workflow.tasks.flatMap((task) => task.actions);
      const times = first && noted.get(first.id);
      if (times) times.readyMs = performance.now() - startMs;
      server.board.add(workflow);
      if (cluster) address(workflow, cluster);
    };
    startMs = performance.now();
    for (const [index, workflow] of workflows.entries()) {
      if (everyMs > 0) setTimeout(() => ready(workflow), index * everyMs);
      else ready(workflow);
    }
    // From here on, all workflows that were submitted at once can be served and seen.
    const nowMs = performance.now() - startMs;
    if (everyMs === 0) for (const times of actions) times.readyMs &&= nowMs;
    const check = ({ workflow }: { readonly workflow: Workflow }) => {
      if (cluster && isOver(workflow)) close(workflow, cluster);
      if (!workflows.every(isOver)) return;
      server.board.off("change", check);
      process.send?.({ kind: "over", batch, startedAt: performance.timeOrigin + startMs, actions });
      for (const workflow of workflows) server.board.delete(workflow);
    };
    server.board.on("change", check);
  };

  const pause = async (ms: number) => {
    await server.stop();
    await sleep(ms);
    await server.start();
    process.send?.({ kind: "outage-over" });
  };

  const note = (workflow: Workflow): readonly Noted[] =>
    workflow.tasks.flatMap((task) =>
      task.actions.map(({ id, name, state, message }) => {
        const times: Noted = { agentId: task.agentId, name, state, message, readyMs: 0 };
        noted.set(id, times);
        return times;
      }),
    );

  process.on("message", (message: unknown) => {
    const submit = Submit.safeParse(message);
    if (submit.success) void run(submit.data);
    else if (AskLoad.safeParse(message).success) {
      const polls = server.polls();
      const counts = { polls: polls.length, reports: server.reports() };
      const connections = server.connections.accepted;
      process.send?.({ kind: "load", agentIds: new Set(polls).size, ...counts, connections });
    }
    const outage = Outage.safeParse(message);
    if (outage.success) void pause(outage.data.ms);
  });
  process.on("disconnect", () => process.exit());
  process.send?.({
    kind: "ready",
    address: server.address,
    ...(cluster && { kubeconfig: cluster.kubeconfig() }),
  });
}

async function currentServer(onServed: NonNullable<TinkServerOptions["onServed"]>): Promise<TinkServer> {
  const server = await startTinkServer({ onServed });
  const { polls, reports } = server;
  return Object.assign(server, { polls: () => polls, reports: () => reports.length });
}

async function legacyServer(): Promise<TinkServer> {
  const server = await startLegacyTinkServer();
  const { calls, reports } = server;
  const polls = () => calls.flatMap(({ method, about }) => (method === "GetWorkflowContexts" ? [about] : []));
  return Object.assign(server, { polls, reports: () => reports.length });
}

/** Creates the Workflow and sets its agent, like Tinkerbell's controller. */
function address({ id, tasks }: Workflow, cluster: FakeCluster): void {
  const [namespace = "", name = ""] = id.split("/");
  cluster.create(...WORKFLOW, { metadata: { namespace, name }, spec: { templateRef: name } });
  const status = { state: "PENDING", agentID: tasks[0]?.agentId };
  cluster.patchStatus(...WORKFLOW, name, status, namespace);
}

function close({ id, state }: Workflow, cluster: FakeCluster): void {
  const [namespace = "", name = ""] = id.split("/");
  cluster.patchStatus(...WORKFLOW, name, { state }, namespace);
}

const WORKFLOW = ["tinkerbell.org/v1alpha1", "Workflow"] as const;
