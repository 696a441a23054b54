import { z } from "zod";
import { FakeCluster, type KubeObject, type PlannedFault } from "../../simulators/kubernetes/cluster.ts";
import { RunningKubelet } from "../../simulators/kubernetes/node/running-kubelet.ts";
import { ANNOTATION, SELECTOR } from "../../worker/runtimes/kubernetes/job-labels.ts";
import { kubeconfigOf } from "../support/kubeconfig.ts";
import { startTcpProxy, type TcpProxy } from "../support/proxy/tcp-proxy.ts";
import { serveOrders, setupOf } from "./host.ts";
import { endByForce } from "./leftovers.ts";

export const ClusterSetup = z.object({
  replicas: z.array(z.string()),
  /** What Node runs an action with, without the action's name. */
  program: z.array(z.string()),
});
export type ClusterSetup = z.infer<typeof ClusterSetup>;

/** The text of a kubeconfig for each replica. */
export const ClusterFacts = z.object({ kubeconfigs: z.record(z.string(), z.string()) });

/** Faults reach the replicas alone: the node and the controllers are the cluster itself. */
export const ClusterOrder = z.discriminatedUnion("kind", [
  /** Each time replicas are cut off they are to be connected again. */
  z.object({ kind: z.literal("cut-off"), replicas: z.array(z.string()).readonly() }),
  z.object({ kind: z.literal("connect"), replicas: z.array(z.string()).readonly() }),
  z.object({ kind: z.literal("refuse"), status: z.int(), times: z.int() }),
  /** Carries requests out and says nothing. */
  z.object({ kind: z.literal("lose-answers"), times: z.int() }),
  z.object({ kind: z.literal("break-watches"), silently: z.boolean() }),
  /** Ends a container by force; the answer is whether there was one. */
  z.object({ kind: z.literal("kill") }),
  /** The answer is what remains although every action has ended. */
  z.object({ kind: z.literal("left") }),
  z.object({ kind: z.literal("heal") }),
  /** Ends the program, with what its pods run. */
  z.object({ kind: z.literal("end") }),
]);
export type ClusterOrder = z.infer<typeof ClusterOrder>;

export const NAMESPACE = "chaos";
/** For the ten minutes that a cluster keeps Jobs: here an ended action is served again within seconds. */
const KEPT_MS = 60_000;
const SWEEP_MS = 5_000;

/** A replica's way to the API server. */
interface Way {
  readonly proxy: TcpProxy;
  cuts: number;
}

/** The program: an API server, and a node that runs pods as processes. */
if (import.meta.main) {
  const { replicas, program } = setupOf(ClusterSetup);
  const cluster = await FakeCluster.start({ namespaces: [NAMESPACE] });
  const node = await RunningKubelet.run(cluster.controlPlane, {
    commandOf: (image, args) => {
      const name = image.slice(image.lastIndexOf("/") + 1).replace(/:.*$/, "");
      return [process.execPath, ...program, name, ...args];
    },
  });
  const port = Number(new URL(cluster.url).port);
  const ways = new Map<string, Way>();
  for (const replica of replicas) ways.set(replica, { proxy: await startTcpProxy({ port }), cuts: 0 });
  const cut = (names: readonly string[], by: 1 | -1) => {
    for (const way of names.flatMap((name) => ways.get(name) ?? [])) {
      way.cuts += by;
      if (way.cuts > 0) way.proxy.cut();
      else way.proxy.restore();
    }
  };

  const isAcknowledged = ({ metadata }: KubeObject) =>
    metadata.annotations?.[ANNOTATION.acknowledged] !== undefined;
  const jobs = () => cluster.list("batch/v1", "Job", NAMESPACE, SELECTOR);
  /** By this clock, which no fault sets. */
  const acknowledgedMs = new Map<string, number>();
  setInterval(() => {
    cluster.forgetRequests();
    for (const { metadata } of jobs().filter(isAcknowledged)) {
      const { name = "" } = metadata;
      const sinceMs = acknowledgedMs.get(name) ?? performance.now();
      acknowledgedMs.set(name, sinceMs);
      if (performance.now() - sinceMs < KEPT_MS) continue;
      cluster.remove("batch/v1", "Job", name, NAMESPACE);
      acknowledgedMs.delete(name);
    }
  }, SWEEP_MS);
  // Otherwise they outlive this program.
  process.on("exit", () => node.pids.forEach(endByForce));

  const planned: PlannedFault[] = [];
  const carryOut = (order: ClusterOrder): unknown => {
    switch (order.kind) {
      case "cut-off":
        return cut(order.replicas, 1);
      case "connect":
        return cut(order.replicas, -1);
      case "refuse":
        planned.push(cluster.fail({}, { status: order.status, times: order.times }));
        return;
      case "lose-answers":
        planned.push(cluster.loseAnswer(({ verb }) => verb !== "watch", order.times));
        return;
      case "break-watches":
        return cluster.dropWatches({ silently: order.silently });
      case "kill":
        return node.killOne();
      case "left":
        return [
          ...jobs()
            .filter((job) => !isAcknowledged(job))
            .map(({ metadata }) => `Job ${metadata.name}`),
          ...cluster.list("v1", "Secret", NAMESPACE).map(({ metadata }) => `Secret ${metadata.name}`),
          ...node.pids.map((pid) => `process ${pid} of a pod`),
        ];
      case "heal":
        for (const fault of planned.splice(0)) fault.end();
        return;
      case "end":
        return process.exit();
      default:
        return order satisfies never;
    }
  };
  const kubeconfigs = [...ways].map(([replica, { proxy }]) => {
    const access = { ...cluster.access(), url: `https://127.0.0.1:${proxy.port}` };
    return [replica, kubeconfigOf(access, NAMESPACE)] as const;
  });
  serveOrders({ kubeconfigs: Object.fromEntries(kubeconfigs) }, ClusterOrder, carryOut);
}
