import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { FakeCluster } from "../../simulators/kubernetes/cluster.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { oneLine, type Row, type Sample, spreads } from "./figures.ts";
import type { Section } from "./section.ts";
import { USERNAME } from "./servers.ts";

const API = "bmc.tinkerbell.org/v1alpha1";
const PASSWORD = "calvin";
const NAME = "node-01";
const ROUNDS = 3;
const LOOK_EVERY_MS = 5;
const LONGEST_MS = 120_000;
/** The tasks with which Tinkerbell boots a machine from the network. */
const TASKS = [
  { powerAction: "off" },
  { oneTimeBootDeviceAction: { device: ["pxe"], efiBoot: true } },
  { powerAction: "on" },
];

const Status = z.object({
  conditions: z
    .array(z.object({ type: z.string(), status: z.string(), message: z.string().optional() }))
    .optional(),
});

/** Jobs of Rufio, one after the other, done by `--rufio` and by Rufio itself. */
export const rufio: Section = {
  name: "rufio",
  title: "Rufio Jobs: off, PXE once, on",
  charted: /./,
  async run(context) {
    const rounds = context.quick ? 1 : ROUNDS;
    const rows: Row[] = [];
    for (const name of ["pbnj-worker", "rufio"]) {
      const { installed, missing } = context.peers.find((each) => each.name === name) ?? {};
      const argv = installed?.argv;
      if (!argv) {
        rows.push({ subject: name, runs: 0, figures: {}, note: `missing: ${missing}` });
        continue;
      }
      const own = name === "pbnj-worker" ? [...argv, ...ARGV] : argv;
      try {
        const folder = await mkdtemp(join(context.folder, "rufio-"));
        const samples = await measure(own, folder, rounds, context.deadline);
        rows.push({ subject: name, runs: samples.length, figures: spreads(samples) });
      } catch (thrown) {
        rows.push({ subject: name, runs: 0, figures: {}, note: `failed: ${oneLine(thrown)}` });
      }
    }
    await context.add("From the creation of the Job to its condition Completed", rows);
  },
};

/** One agent ID that never gets a workflow: a worker has at least one. */
const ARGV = [
  ...["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "bench", "--runtime", "in-process"],
  ...["--kubernetes-inventory", "machines", "--rufio", "--rufio-alone", "--log-level", "error"],
];

async function measure(
  argv: readonly string[],
  folder: string,
  rounds: number,
  deadline: AbortSignal,
): Promise<readonly Sample[]> {
  const machine = new SimulatedMachine({ power: "on", powerOnMs: 0, powerOffMs: 0, softOffMs: 0 });
  const bmc = await startRedfishBmc({ machines: [machine], password: PASSWORD });
  const ipmi = await startIpmiBmc({ machine, users: [{ name: USERNAME, password: PASSWORD }] });
  const cluster = await FakeCluster.start();
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, cluster.kubeconfig({ namespace: "default" }));
  addMachine(cluster, bmc.port, ipmi.port);
  const [program = "", ...rest] = argv;
  const worker = spawn(program, rest, {
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      XDG_STATE_HOME: folder,
      XDG_CACHE_HOME: folder,
      PBNJ_HTTP_ADDRESS: "off",
      KUBECONFIG: kubeconfig,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(worker, "exit");
  try {
    const samples: Sample[] = [];
    // The first one waits for the worker's start.
    for (let round = 0; round <= rounds && !deadline.aborted; round += 1) {
      const sample = await runJob(cluster, bmc, `job-${round}`);
      if (round > 0) samples.push(sample);
    }
    return samples;
  } finally {
    worker.kill("SIGKILL");
    await ended;
    await Promise.all([cluster.close(), bmc.close(), ipmi.close()]);
    machine.close();
  }
}

async function runJob(cluster: FakeCluster, bmc: RedfishBmc, name: string): Promise<Sample> {
  cluster.forgetRequests();
  bmc.forget();
  const startedMs = performance.now();
  cluster.create(API, "Job", {
    metadata: { name, namespace: "default" },
    spec: { machineRef: { name: NAME, namespace: "default" }, tasks: TASKS },
  });
  const giveUp = AbortSignal.timeout(LONGEST_MS);
  for (;;) {
    const { conditions = [] } = Status.parse(cluster.get(API, "Job", name)?.["status"] ?? {});
    const isTrue = (type: string) => conditions.find((one) => one.type === type && one.status === "True");
    if (isTrue("Completed")) break;
    const failed = isTrue("Failed");
    if (failed) throw new Error(`the Job failed: ${failed.message}`);
    await sleep(LOOK_EVERY_MS, undefined, { signal: giveUp });
  }
  const wallMs = performance.now() - startedMs;
  return { wallMs, apiRequests: cluster.requests.length, requests: bmc.requests.length };
}

function addMachine(cluster: FakeCluster, redfishPort: number, ipmiPort: number): void {
  cluster.create("v1", "Secret", {
    metadata: { name: `${NAME}-bmc`, namespace: "default" },
    stringData: { username: USERNAME, password: PASSWORD },
  });
  const connection = {
    host: "127.0.0.1",
    port: ipmiPort,
    insecureTLS: true,
    authSecretRef: { name: `${NAME}-bmc`, namespace: "default" },
    providerOptions: { preferredOrder: ["gofish"], redfish: { port: redfishPort, useBasicAuth: true } },
  };
  cluster.create(API, "Machine", { metadata: { name: NAME, namespace: "default" }, spec: { connection } });
}
