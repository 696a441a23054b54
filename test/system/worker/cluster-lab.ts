import { randomUUID } from "node:crypto";
import type { KubeObject, RbacRule } from "../../../simulators/kubernetes/cluster.ts";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import { accessFromKubeconfig, ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";
import { JobController } from "../../../simulators/kubernetes/node/job-controller.ts";
import { RunningKubelet } from "../../../simulators/kubernetes/node/running-kubelet.ts";
import type { Workflow } from "../../../simulators/tink/workflow.ts";
import { bundledProgram } from "../../support/bundled-program.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { kubeconfigOf } from "../../support/kubeconfig.ts";
import { openLab, type Step } from "../../support/lab.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

const program = await bundledProgram();
const NAMESPACE = "tink-system";
const REGISTRY = "registry.example/pbnj-worker";
/** Looked for wherever it must not be. */
export const PASSWORD = "canary-5b2e9f";

export interface ClusterLabOptions {
  readonly machines?: number;
  /** The objects that are machines; `machines` when absent. */
  readonly inventory?: "machines" | "hardware" | "machines,hardware";
  readonly softOffMs?: number;
  readonly powerOffMs?: number | "held";
  /** What the workers' account may do; everything without them. A real cluster grants them in the lab's namespace alone. */
  readonly rules?: readonly RbacRule[];
  /** A real API server in the fake's place. */
  readonly real?: RealCluster;
}

/** An API server with Tinkerbell's definitions and no node. */
interface RealCluster {
  /** The text of a file. */
  readonly kubeconfig: string;
  /** Whether it makes the pods of Jobs itself. */
  readonly hasJobController: boolean;
}

/** Machines behind BMCs, a tink server, and a cluster with the machines' objects and one node that runs pods. */
export async function clusterLab({
  machines: count = 1,
  inventory = "machines",
  softOffMs = 100,
  powerOffMs = 50,
  rules,
  real,
}: ClusterLabOptions = {}) {
  const times = { powerOnMs: 200, powerOffMs, softOffMs };
  const names = Array.from({ length: count }, (_, index) => `node-${String(index + 1).padStart(2, "0")}`);
  const base = await openLab({
    server: { holdMs: 1_000 },
    machines: Object.fromEntries(names.map((name) => [name, times])),
    password: PASSWORD,
    bmc: { tls: undefined },
    policy: { trustedImages: [`${REGISTRY}/*`] },
  });
  const { server } = base;
  const fake = real ? undefined : base.own(await FakeCluster.start({ namespaces: ["default"] }));
  const access = real ? accessFromKubeconfig(real.kubeconfig) : required(fake).controlPlane;
  const client = new ClusterClient(access);
  base.defer(() => client.close());
  const namespace = real ? `pbnj-${randomUUID().slice(0, 8)}` : NAMESPACE;
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  await client.create("/api/v1/namespaces", { metadata: { name: namespace, labels } });
  if (real) {
    base.defer(async () => void (await client.delete(`/api/v1/namespaces/${namespace}`)));
    const controller = real.hasJobController ? undefined : JobController.start(access, { namespace });
    base.defer(async () => controller?.close());
  }
  const node = await RunningKubelet.run(access, {
    node: `node-of-${namespace}`,
    namespace,
    commandOf: (image, args) => {
      const name = image.slice(image.lastIndexOf("/") + 1).replace(/:.*$/, "");
      return [process.execPath, program.file, "action", name, ...args];
    },
  });
  base.defer(() => node.close());
  const account = `system:serviceaccount:${namespace}:pbnj-worker`;
  const token =
    rules && (fake ? fake.addUser(account, rules) : await createAccount(client, namespace, rules));
  const { url, ca = "" } = access;
  const realAccess = token === undefined ? access : { url, ca, token };
  const kubeconfig = await base.write("kubeconfig", kubeconfigOf(fake?.access(token) ?? realAccess));
  for (const name of names) {
    const secret = `${name}-bmc`;
    await client.create(`/api/v1/namespaces/${namespace}/secrets`, {
      metadata: { name: secret },
      stringData: { username: "admin", password: PASSWORD },
    });
    await client.create(`/apis/bmc.tinkerbell.org/v1alpha1/namespaces/${namespace}/machines`, {
      apiVersion: "bmc.tinkerbell.org/v1alpha1",
      kind: "Machine",
      metadata: { name },
      spec: {
        connection: {
          host: "127.0.0.1",
          insecureTLS: true,
          authSecretRef: { name: secret, namespace },
          providerOptions: { preferredOrder: ["gofish"], redfish: { port: base.bmc(name).port } },
        },
      },
    });
  }
  let states = 0;

  const lab = {
    ...base,
    ...{ client, kubeconfig, node, namespace, policy: base.path("policy.yaml") },

    /** Throws for a real one. */
    get fake(): FakeCluster {
      return required(fake);
    },

    /** A worker inside this process. */
    start: (argv: readonly string[] = []) => base.own(new CommandInProcess(lab.argv(...argv))),

    /** A worker that can be killed. */
    startProcess: (argv: readonly string[] = []) => base.own(new WorkerProgram(lab.argv(...argv))),

    /** The arguments of a worker with a state directory of its own, like a pod. */
    argv: (...more: readonly string[]): readonly string[] => [
      ...["start", "--grpc-server", server.address, "--kubeconfig", kubeconfig],
      ...["--kubernetes-namespace", namespace, "--runtime", "kubernetes", "--policy", lab.policy],
      ...["--kubernetes-inventory", inventory, "--state-directory", base.path(`state-${states++}`)],
      ...["--backoff-max-interval", "300ms", "--log-level", "debug", "--shutdown-grace", "1s", ...more],
    ],

    /** At the tink server and, as its controller does, in the cluster, where the object stays as it begins. */
    async submit(machine: string, steps: readonly Step[]): Promise<Workflow> {
      const imaged = steps.map((step) => ({ image: `${REGISTRY}/${step.name}:test`, ...step }));
      const workflow = base.submitAs({ namespace }, `pbnj-${machine}`, ...imaged);
      const [, name = ""] = workflow.id.split("/");
      const workflows = `/apis/tinkerbell.org/v1alpha1/namespaces/${namespace}/workflows`;
      await client.create(workflows, {
        ...{ apiVersion: "tinkerbell.org/v1alpha1", kind: "Workflow", metadata: { name } },
        spec: { templateRef: "t" },
      });
      const { state, agentId } = workflow;
      await client.patch(`${workflows}/${name}/status`, { status: { state, agentID: agentId } });
      return workflow;
    },

    async jobs(): Promise<readonly KubeObject[]> {
      return (await client.list(`/apis/batch/v1/namespaces/${namespace}/jobs`)).items;
    },

    /** A Job of Rufio's kind. */
    async submitToRufio(
      name: string,
      machine: string,
      tasks: readonly object[],
    ): Promise<() => Promise<KubeObject>> {
      const jobs = `/apis/bmc.tinkerbell.org/v1alpha1/namespaces/${namespace}/jobs`;
      await client.create(jobs, {
        apiVersion: "bmc.tinkerbell.org/v1alpha1",
        kind: "Job",
        metadata: { name },
        spec: { machineRef: { name: machine, namespace }, tasks },
      });
      return () => client.get(`${jobs}/${name}`);
    },
  };
  return lab;
}

/** Resolves to the token of a new ServiceAccount with these rights. */
async function createAccount(
  client: ClusterClient,
  namespace: string,
  rules: readonly RbacRule[],
): Promise<string> {
  const name = "pbnj-worker";
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  const rights = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  await client.create(accounts, { metadata: { name } });
  await client.create(`${rights}/roles`, { metadata: { name }, rules });
  await client.create(`${rights}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  });
  const { status } = await client.create(`${accounts}/${name}/token`, { spec: {} });
  return String(status?.["token"]);
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("this is a fake cluster's");
  return value;
}
