import { vi } from "vitest";
import { z } from "zod";
import type { FakeClusterOptions, KubeObject } from "../../../../simulators/kubernetes/cluster.ts";
import type { SimulatedMachineOptions } from "../../../../simulators/machine.ts";
import { openFakeCluster } from "../../../support/fake-cluster.ts";
import { openFolder } from "../../../support/folder.ts";
import { openRack } from "../../../support/lab.ts";
import { type Logged, type ReplicaOptions, startReplica } from "./replica.ts";

export const BMC_API = "bmc.tinkerbell.org/v1alpha1";
export const NEW_BMC_API = "bmc.tinkerbell.org/v1alpha2";
export const LEASE_NAME = "e74dec1a.bmc.tinkerbell.org";
const WAIT_MS = 60_000;

export interface RufioLabOptions {
  /** By name; `node-01` alone when absent. */
  readonly machines?: Readonly<Record<string, SimulatedMachineOptions>>;
  readonly cluster?: FakeClusterOptions;
}

const Status = z.object({
  conditions: z.array(z.record(z.string(), z.string())).optional(),
  startTime: z.string().optional(),
  completionTime: z.string().optional(),
  powerState: z.string().optional(),
  completedOperations: z.number().optional(),
});

/** A cluster with Rufio's kinds, machines behind Redfish BMCs, and replicas of a worker that do Rufio's work. */
export async function rufioLab({ machines = { "node-01": {} }, cluster: given }: RufioLabOptions = {}) {
  const rack = await openRack({ machines });
  const { inventoryFile } = rack;
  const { fake: cluster } = await openFakeCluster(given, rack);
  const replicas: Awaited<ReturnType<typeof startReplica>>[] = [];

  function statusOf(kind: string, name: string, api: typeof BMC_API | typeof NEW_BMC_API = BMC_API) {
    return Status.parse(cluster.get(api, kind, name)?.["status"] ?? {});
  }

  const lab = {
    ...rack,
    cluster,
    logged: [] as Logged[],

    /** The connection that the Machine of that name has. */
    connection: (name = "node-01") => ({
      host: `${name}.bmc.example`,
      port: 623,
      authSecretRef: { name: `${name}-bmc`, namespace: "default" },
      insecureTLS: true,
    }),

    addMachine(name = "node-01", namespace = "default"): KubeObject {
      const connection = lab.connection(name);
      return cluster.create(BMC_API, "Machine", { metadata: { name, namespace }, spec: { connection } });
    },

    addSecret: (name = "node-01", password = "calvin") =>
      cluster.create("v1", "Secret", {
        metadata: { name: `${name}-bmc`, namespace: "default" },
        stringData: { username: "admin", password },
      }),

    /** Creates a Job like Tinkerbell's controller; its labels and owner do not matter here. */
    addJob(name: string, tasks: readonly object[], machine = "node-01", more: object = {}): KubeObject {
      return cluster.create(BMC_API, "Job", {
        metadata: { name, namespace: "default", ...more },
        spec: { machineRef: { name: machine, namespace: "default" }, tasks },
      });
    },

    addTask(name: string, task: object, more: { metadata?: object; connection?: object } = {}): KubeObject {
      return cluster.create(BMC_API, "Task", {
        metadata: { name, namespace: "default", ...more.metadata },
        spec: { task, connection: more.connection ?? lab.connection() },
      });
    },

    /** The connection that the Hardware of that name has. */
    newConnection: (name = "node-01") => ({
      host: `${name}.bmc.example`,
      credentialsRef: { name: `${name}-bmc`, namespace: "default" },
      insecureTLS: true,
    }),

    addHardware(name = "node-01", namespace = "default"): KubeObject {
      const bmc = { bootMode: "UEFI", connection: lab.newConnection(name) };
      return cluster.create("tinkerbell.org/v1alpha2", "Hardware", {
        metadata: { name, namespace },
        spec: { bmc },
      });
    },

    /** A Job of v1alpha2. */
    addNewJob(name: string, operations: readonly object[], target: object = lab.hardwareRef()): KubeObject {
      return cluster.create(NEW_BMC_API, "Job", {
        metadata: { name, namespace: "default" },
        spec: { ...target, operations },
      });
    },

    hardwareRef: (name = "node-01", namespace = "default") => ({ hardwareRef: { name, namespace } }),

    lease(holderIdentity: string, leaseDurationSeconds = 15, namespace = "tink-system"): object {
      const now = new Date().toISOString().replace("Z", "000Z");
      const spec = {
        holderIdentity,
        leaseDurationSeconds,
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 1,
      };
      return { metadata: { name: LEASE_NAME, namespace }, spec };
    },

    job: (name: string) => statusOf("Job", name),
    task: (name: string) => statusOf("Task", name),
    newJob: (name: string) => statusOf("Job", name, NEW_BMC_API),
    status: (name = "node-01") => statusOf("Machine", name),

    async replica(options: Partial<ReplicaOptions> & { readonly token?: string } = {}) {
      const { token, ...more } = options;
      const replica = await startReplica({ ...(await lab.replicaOptions(token)), ...more }, (line) =>
        lab.logged.push(line),
      );
      replicas.push(replica);
      return replica;
    },

    /** The options of a replica with a state directory of its own. */
    async replicaOptions(token?: string) {
      const home = rack.own(await openFolder());
      const text = cluster.kubeconfig({ namespace: "tink-system", ...(token && { token }) });
      const kubeconfig = await home.write("kubeconfig", text);
      return { kubeconfig, inventoryFile, stateDirectory: home.path("state") };
    },

    rufioSynced: () => replicas.every(({ rufio }) => rufio.state().synced && rufio.state().leaseFree),

    said: (msg: string, fields: object = {}) =>
      lab.logged.filter(
        (line) => line.msg === msg && Object.entries(fields).every(([name, value]) => line[name] === value),
      ),

    async [Symbol.asyncDispose]() {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await rack[Symbol.asyncDispose]();
    },
  };
  return lab;
}

export type RufioLab = Awaited<ReturnType<typeof rufioLab>>;

/** Waits until nothing is thrown; resolves to the result. */
export function eventually<T>(look: () => T | Promise<T>, timeout = WAIT_MS): Promise<T> {
  return vi.waitFor(look, { timeout, interval: 20 });
}

export function isTrue(status: { conditions?: Record<string, string>[] | undefined }, type: string): boolean {
  return status.conditions?.some((one) => one["type"] === type && one["status"] === "True") ?? false;
}
