import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeObject } from "../simulators/kubernetes/api/object.ts";
import type { RbacRule } from "../simulators/kubernetes/api/rbac.ts";
import { FakeCluster } from "../simulators/kubernetes/cluster.ts";
import { RunningKubelet } from "../simulators/kubernetes/node/running-kubelet.ts";
import { SimulatedMachine } from "../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../simulators/redfish/bmc.ts";
import { startTinkServer } from "../simulators/tink/server.ts";
import type { Workflow } from "../simulators/tink/workflow.ts";
import { WorkerProgram } from "../support/worker-program.ts";

const ACTIONS = join(import.meta.dirname, "../../actions/main.ts");
const NAMESPACE = "tink-system";
const REGISTRY = "registry.example/pbnj-worker";
/** Looked for wherever it must not be. */
export const PASSWORD = "canary-5b2e9f";

export interface ClusterLabOptions {
  readonly machines?: number;
  readonly softOffMs?: number;
  /** What the workers' account may do; everything without them. */
  readonly rules?: readonly RbacRule[];
}

interface Step {
  readonly name: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Machines behind BMCs, a tink server, and a cluster with the machines' objects and one node that runs pods. */
export async function clusterLab({ machines: count = 1, softOffMs = 100, rules }: ClusterLabOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-cluster-"));
  const server = await startTinkServer({ holdMs: 1_000 });
  const cluster = await FakeCluster.start({ namespaces: ["default"] });
  const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };
  cluster.create("v1", "Namespace", { metadata: { name: NAMESPACE, labels: restricted } });
  const node = await RunningKubelet.run(cluster.controlPlane, {
    commandOf: (image, args) => {
      const name = image.slice(image.lastIndexOf("/") + 1).replace(/:.*$/, "");
      return [process.execPath, ACTIONS, name, ...args];
    },
  });
  const kubeconfig = join(folder, "kubeconfig");
  const token = rules && cluster.addUser(`system:serviceaccount:${NAMESPACE}:pbnj-worker`, rules);
  await writeFile(kubeconfig, cluster.kubeconfig({ namespace: NAMESPACE, ...(token && { token }) }));
  const times = { powerOnMs: 200, powerOffMs: 50, softOffMs };
  const machines = Array.from(
    { length: count },
    (_, index) => new SimulatedMachine({ name: `node-${String(index + 1).padStart(2, "0")}`, ...times }),
  );
  const bmcs: RedfishBmc[] = [];
  for (const machine of machines) {
    const bmc = await startRedfishBmc({ machines: [machine], username: "admin", password: PASSWORD });
    bmcs.push(bmc);
    const { name } = machine;
    const secret = `${name}-bmc`;
    cluster.create("v1", "Secret", {
      metadata: { namespace: NAMESPACE, name: secret },
      stringData: { username: "admin", password: PASSWORD },
    });
    cluster.create("bmc.tinkerbell.org/v1alpha1", "Machine", {
      metadata: { namespace: NAMESPACE, name },
      spec: {
        connection: {
          host: "127.0.0.1",
          insecureTLS: true,
          authSecretRef: { name: secret, namespace: NAMESPACE },
          providerOptions: { preferredOrder: ["gofish"], redfish: { port: bmc.port } },
        },
      },
    });
  }
  const workers: WorkerProgram[] = [];
  let states = 0;

  const lab = {
    ...{ server, cluster, machines, bmcs, folder, kubeconfig, node, namespace: NAMESPACE },

    /** A worker with a state directory of its own, as a pod has it, unless it is given one. */
    start(argv: readonly string[] = [], state = join(folder, `state-${states++}`)): WorkerProgram {
      const worker = new WorkerProgram([
        ...["start", "--grpc-server", server.address, "--kubeconfig", kubeconfig],
        ...["--runtime", "kubernetes", "--kubernetes-inventory", "machines", "--state-directory", state],
        ...["--backoff-max-interval", "300ms", "--log-level", "debug", "--shutdown-grace", "1s", ...argv],
      ]);
      workers.push(worker);
      return worker;
    },

    /** At the tink server and, as its controller does, in the cluster. */
    submit(machine: string, steps: readonly Step[]): Workflow {
      const actions = steps.map(({ name, environment = {} }) => ({
        ...{ name, image: `${REGISTRY}/${name}:test`, timeout: 60, environment },
      }));
      const tasks = [{ name: "bmc", worker: `pbnj-${machine}`, actions }];
      const template = { version: "0.1", name: "t", global_timeout: 600, tasks };
      return server.submit({ template: JSON.stringify(template), namespace: NAMESPACE });
    },

    jobs(): readonly KubeObject[] {
      return cluster.list("batch/v1", "Job", NAMESPACE);
    },

    async close(): Promise<void> {
      await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
      await node.close();
      await cluster.close();
      await Promise.all(bmcs.map((bmc) => bmc.stop()));
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: () => lab.close(),
  };
  return lab;
}
