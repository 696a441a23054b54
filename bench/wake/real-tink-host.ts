import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fromBinary } from "@bufbuild/protobuf";
import { z } from "zod";
import { accessFromKubeconfig, ClusterClient } from "../../simulators/kubernetes/node/cluster-client.ts";
import {
  ActionRequestSchema,
  ActionResponseSchema,
  ActionStatusRequest_StateType,
  ActionStatusRequestSchema,
} from "../../worker/sources/tink/gen/workflow_pb.ts";
import { AskLoad, Submit } from "../fleet/tink-host.ts";
import { type RecordedCall, startGrpcRecorder } from "./grpc-recorder.ts";

const Workflow = z.object({
  metadata: z.object({ name: z.string() }),
  status: z.object({ state: z.string().optional(), tasks: z.array(z.unknown()).optional() }).optional(),
});

const GROUP = "/apis/tinkerbell.org/v1alpha1/namespaces/default";
const LABEL = "pbnj-worker-bench";
/** So many objects are made at a time. */
const WRITERS = 10;

/** What is known of a workflow's one action, in milliseconds since the batch's first object was sent. */
interface Noted {
  agentId: string;
  name: string;
  state: string;
  message: string;
  createdMs: number;
  readyMs: number;
  askedMs?: number;
  servedMs?: number;
  runningMs?: number;
  acknowledgedMs?: number;
  endedMs?: number;
}

/**
 * The program: what `bench/fleet/tink-host.ts` is, with a real Tinkerbell in place of the simulated one. `TINK_SERVER` holds the
 * tink server's address, `KUBECONFIG` the file of its cluster. Templates must have one action. The argument is how many
 * Workflows of each agent ID are over already.
 */
if (import.meta.main) {
  const finished = Number(process.argv[2] ?? 0);
  const kubeconfig = readFileSync(process.env["KUBECONFIG"] ?? "", "utf8");
  const api = new ClusterClient(accessFromKubeconfig(kubeconfig));
  const stop = new AbortController();
  const asked = new Set<string>();
  let polls = 0;
  /** By workflow. */
  let noted = new Map<string, Noted>();
  let startMs = performance.now();
  let over: (() => void) | undefined;

  const onCall = ({ method, request, response, askedMs, answeredMs }: RecordedCall) => {
    if (method === "GetAction" && response.length > 0) {
      const times = noted.get(nameOf(fromBinary(ActionResponseSchema, response).workflowId));
      if (!times) return;
      times.askedMs ??= askedMs - startMs;
      times.servedMs ??= answeredMs - startMs;
    }
    if (method !== "ReportActionStatus") return;
    const report = fromBinary(ActionStatusRequestSchema, request);
    const times = noted.get(nameOf(report.workflowId));
    if (!times) return;
    if (report.actionState === ActionStatusRequest_StateType.RUNNING) {
      times.runningMs ??= askedMs - startMs;
      times.acknowledgedMs ??= answeredMs - startMs;
      return;
    }
    times.state = report.actionState === ActionStatusRequest_StateType.SUCCESS ? "SUCCESS" : "FAILED";
    times.message = report.message?.message ?? "";
    times.endedMs ??= askedMs - startMs;
    if ([...noted.values()].every(({ endedMs }) => endedMs !== undefined)) over?.();
  };
  const recorder = await startGrpcRecorder(process.env["TINK_SERVER"] ?? "", onCall, (method, request) => {
    if (method !== "GetAction") return;
    polls += 1;
    asked.add(fromBinary(ActionRequestSchema, request).agentId);
  });

  const clear = async (kind: "workflows" | "templates") => {
    const { items } = await api.list(`${GROUP}/${kind}?labelSelector=${LABEL}`);
    await eachOf(items, ({ metadata: { name } }) => api.delete(`${GROUP}/${kind}/${name}`));
  };

  /** Rendered for an agent ID without a lane, then finished and given to the agent ID. */
  const addFinished = (batch: string, agentIds: readonly string[]) => {
    const names = agentIds.flatMap((agentId, index) =>
      Array.from({ length: finished }, (_, each) => ({
        agentId,
        name: `${batch}-${index}-finished-${each}`,
      })),
    );
    return eachOf(names, async ({ agentId, name }) => {
      const spec = { templateRef: batch, hardwareMap: { agent: "bench-unpolled" } };
      await api.create(`${GROUP}/workflows`, objectOf("Workflow", name, spec));
      const path = `${GROUP}/workflows/${name}`;
      while (!isRendered(Workflow.parse(await api.get(path)))) await sleep(50);
      await api.patch(`${path}/status`, { status: { state: "SUCCESS", agentID: agentId } });
    });
  };

  const run = async ({ batch, template, agentIds }: Submit) => {
    await api.create(`${GROUP}/templates`, objectOf("Template", batch, { data: template }));
    await addFinished(batch, agentIds);
    const ended = new Promise<void>((resolve) => {
      over = resolve;
    });
    startMs = performance.now();
    noted = new Map();
    await eachOf([...agentIds.entries()], async ([index, agentId]) => {
      const name = `${batch}-${index}`;
      const times: Noted = { agentId, name: "", state: "", message: "", createdMs: 0, readyMs: Number.NaN };
      noted.set(name, times);
      const spec = { templateRef: batch, hardwareMap: { agent: agentId } };
      await api.create(`${GROUP}/workflows`, objectOf("Workflow", name, spec));
      times.createdMs = performance.now() - startMs;
    });
    await ended;
    const actions = [...noted.values()].map((times) => ({ ...times, readyMs: times.readyMs || 0 }));
    await clear("workflows");
    await clear("templates");
    process.send?.({ kind: "over", batch, startedAt: performance.timeOrigin + startMs, actions });
  };

  await clear("workflows");
  await clear("templates");
  const { resourceVersion } = await api.list(`${GROUP}/workflows`);
  void watchReady(api, resourceVersion, stop.signal, (name) => {
    const times = noted.get(name);
    if (times && Number.isNaN(times.readyMs)) times.readyMs = performance.now() - startMs;
  });

  process.on("message", (message: unknown) => {
    const submit = Submit.safeParse(message);
    if (submit.success) void run(submit.data);
    else if (AskLoad.safeParse(message).success)
      process.send?.({ kind: "load", agentIds: asked.size, polls });
  });
  process.on("disconnect", () => process.exit());
  process.send?.({ kind: "ready", address: recorder.address, kubeconfig });
}

/** Calls `onReady` with the name of each Workflow that the controller has rendered. */
async function watchReady(
  api: ClusterClient,
  resourceVersion: string,
  signal: AbortSignal,
  onReady: (name: string) => void,
): Promise<void> {
  for await (const { type, object } of api.watch(`${GROUP}/workflows`, resourceVersion, signal)) {
    if (type !== "ADDED" && type !== "MODIFIED") continue;
    const workflow = Workflow.parse(object);
    if (isRendered(workflow)) onReady(workflow.metadata.name);
  }
}

function objectOf(kind: string, name: string, spec: object) {
  return {
    apiVersion: "tinkerbell.org/v1alpha1",
    kind,
    metadata: { name, namespace: "default", labels: { [LABEL]: "" } },
    spec,
  };
}

function isRendered({ status }: z.infer<typeof Workflow>): boolean {
  return status?.state !== undefined && status.state !== "" && status.tasks !== undefined;
}

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const writer = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

function nameOf(workflowId: string): string {
  return workflowId.slice(workflowId.indexOf("/") + 1);
}
