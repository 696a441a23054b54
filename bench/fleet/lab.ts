import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { bundleProgram } from "../../scripts/bundle/bundle.ts";
import { writeProgramCodeCache } from "../../scripts/bundle/code-cache.ts";
import { type Certificate, createCertificate, fingerprintOf } from "../../simulators/certificate.ts";
import { type Folder, openFolder } from "../../test/support/folder.ts";
import { MOST_PROBES } from "../../worker/core/lanes/server-load.ts";
import { type FarmCount, FarmCount as FarmCountSchema, type FarmOrder, FarmReady } from "./bmc-farm.ts";
import { ChildProgram } from "./child-program.ts";
import {
  BatchOver,
  HostReady,
  OutageOver,
  type ServerLoad,
  ServerLoad as ServerLoadSchema,
  WITH_CLUSTER,
} from "./tink-host.ts";

interface WorkerOptions {
  /** Further arguments of `pbnj-worker start`. */
  readonly workerArgv: readonly string[];
  /** Absolute path of a program to run in place of the worker, with the same arguments. */
  readonly program?: string;
  /** Arguments of Node. */
  readonly nodeArgv?: readonly string[];
  /** Another folder for the worker's state. */
  readonly state?: string;
}

export interface LabOptions extends WorkerOptions {
  readonly machines: number;
  readonly latencyMs: number;
  readonly transitionMs: number;
  /** The BMCs speak TLS, with one certificate. */
  readonly tls?: boolean;
  /** With a cluster that has the Workflows, by which the worker's lanes are woken up. */
  readonly wakesUp?: boolean;
  /** A program, with its arguments, that is the tink server or its proxy. Default: the simulated server. */
  readonly host?: { readonly program: string; readonly argv: readonly string[] };
}

interface Batch {
  readonly name: string;
  readonly template: string;
  readonly machines: readonly number[];
  readonly everyMs?: number;
  /** After so long it has failed. */
  readonly withinMs: number;
}

/** A worker, the tink server it polls and the BMCs of its machines, in processes of their own. */
export interface Lab {
  readonly workerPid: number;
  readonly hostPid: number;
  readonly farmPids: readonly number[];
  run(batch: Batch): Promise<BatchOver>;
  counts(): Promise<readonly FarmCount[]>;
  /** What the tink server has received so far. */
  load(): Promise<ServerLoad>;
  /** Resolves when the tink server, which was away for so long, listens again. */
  outage(ms: number): Promise<void>;
  /** Ends everything, and removes its folder. The worker may take its time to write what it was told to. */
  [Symbol.asyncDispose](): Promise<void>;
}

const PROGRAM = "pbnj-worker.mjs";
const FARM = fileURLToPath(new URL("bmc-farm.ts", import.meta.url));
const HOST = fileURLToPath(new URL("tink-host.ts", import.meta.url));
const LOG_FILE = "worker.log";
const PASSWORD = "calvin";
/** So many BMCs one process carries without being what is waited for. */
const BMCS_A_PROCESS = 500;
const LANES_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;
const OUTAGE_MARGIN_MS = 10_000;
/** Characters of the worker's log that tell why it ended. */
const LOG_TAIL = 2_000;

/** Resolves when every lane has polled, or rests. */
export async function startLab(options: LabOptions): Promise<Lab> {
  const { machines, latencyMs, transitionMs } = options;
  await using stack = new AsyncDisposableStack();
  const base = stack.use(await openFolder());
  const { folder } = base;
  // Images have bundles, too: from source a worker is larger and starts its actions more slowly.
  await writeProgramCodeCache(folder, await bundleProgram(folder));
  const certificate = options.tls
    ? createCertificate({ commonName: "bench", altNames: ["127.0.0.1"] })
    : undefined;
  const farms = Array.from({ length: Math.ceil(machines / BMCS_A_PROCESS) }, (_, index) => {
    const count = Math.min(BMCS_A_PROCESS, machines - index * BMCS_A_PROCESS);
    const order: FarmOrder = { machines: count, password: PASSWORD, latencyMs, transitionMs, certificate };
    return stack.use(new ChildProgram("the BMC farm", FARM, [JSON.stringify(order)]));
  });
  const hostProgram = options.host ?? { program: HOST, argv: options.wakesUp ? [WITH_CLUSTER] : [] };
  const host = stack.use(new ChildProgram("the tink server", hostProgram.program, hostProgram.argv));
  const [{ address, kubeconfig }, ...ready] = await Promise.all([
    host.hear(HostReady),
    ...farms.map((farm) => farm.hear(FarmReady)),
  ]);
  const inventory = await writeInventory(
    base,
    ready.flatMap(({ ports }) => ports),
    certificate,
  );
  const waking =
    kubeconfig === undefined
      ? []
      : ["--kubeconfig", await base.write("kubeconfig", kubeconfig), "--wake-up", "on"];
  const workerArgv = [...waking, ...options.workerArgv];
  const worker = stack.adopt(startWorker(folder, address, inventory, { ...options, workerArgv }), stopWorker);
  const workerGone = once(worker, "exit").then(async ([code]): Promise<never> => {
    throw new Error(`the worker ended with ${code}: ${await logTail(folder)}`);
  });
  workerGone.catch(() => undefined);
  const polling = options.wakesUp ? Math.min(machines, MOST_PROBES) : machines;
  await Promise.race([untilPolled(host, polling), workerGone]);
  const owned = stack.move();
  disposeOnSignals(owned);
  return {
    workerPid: worker.pid ?? 0,
    hostPid: host.pid,
    farmPids: farms.map(({ pid }) => pid),
    async run({ name, template, machines: chosen, everyMs = 0, withinMs }) {
      const agentIds = chosen.map(agentIdOf);
      const over = host.hear(BatchOver, withinMs);
      host.tell({ kind: "submit", batch: name, template, agentIds, everyMs });
      return Promise.race([over, workerGone]);
    },
    counts: () =>
      Promise.all(
        farms.map((farm) => {
          const count = farm.hear(FarmCountSchema);
          farm.tell({ kind: "count" });
          return count;
        }),
      ),
    load: () => loadOf(host),
    async outage(ms) {
      const over = host.hear(OutageOver, ms + OUTAGE_MARGIN_MS);
      host.tell({ kind: "outage", ms });
      await over;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A measurement that is broken off leaves nothing behind either. */
function disposeOnSignals(owned: AsyncDisposableStack): void {
  for (const [signal, exitCode] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    const onSignal = () => void owned.disposeAsync().finally(() => process.exit(exitCode));
    process.once(signal, onSignal);
    owned.defer(() => void process.off(signal, onSignal));
  }
}

/** A template of these actions, one after the other, for the agent ID `agent`. */
export function templateOf(
  actions: readonly { readonly name: string; readonly environment?: object }[],
  timeoutS: number,
): string {
  const all = actions.map((action) => ({ ...action, image: `bench/${action.name}:v1`, timeout: timeoutS }));
  const tasks = [{ name: "bmc", worker: "{{ .agent }}", actions: all }];
  return JSON.stringify({ version: "0.1", name: "bench", global_timeout: 10 * timeoutS, tasks });
}

function agentIdOf(index: number): string {
  return `pbnj-${machineName(index)}`;
}

function machineName(index: number): string {
  return `node-${String(index).padStart(4, "0")}`;
}

/** With the certificate that all BMCs have, if they speak TLS. */
async function writeInventory(
  { write }: Folder,
  ports: readonly number[],
  certificate?: Certificate,
): Promise<string> {
  const passwordFile = await write("password", `${PASSWORD}\n`);
  const machines = ports.map((port, index) => ({
    name: machineName(index),
    host: "127.0.0.1",
    redfish: { port, scheme: certificate ? "https" : "http" },
  }));
  const defaults = {
    credentials: { username: "admin", passwordFile },
    providers: ["redfish"],
    ...(certificate && { tls: { fingerprint: fingerprintOf(certificate) } }),
  };
  return write("inventory.yaml", { defaults, machines });
}

/** From the bundle in `folder`, where its log goes, too. */
function startWorker(
  folder: string,
  address: string,
  inventory: string,
  { program = join(folder, PROGRAM), state = folder, workerArgv, nodeArgv = [] }: WorkerOptions,
): ChildProcess {
  const log = openSync(join(folder, LOG_FILE), "a");
  const argv = ["start", "--grpc-server", address, "--inventory", inventory];
  return spawn(process.execPath, [...nodeArgv, program, ...argv, ...workerArgv], {
    env: {
      PATH: process.env["PATH"],
      XDG_STATE_HOME: state,
      XDG_CACHE_HOME: folder,
      PBNJ_HTTP_ADDRESS: "off",
    },
    stdio: ["ignore", "ignore", log],
  });
}

/** What the workers of `folder` logged last. */
async function logTail(folder: string): Promise<string> {
  return (await readFile(join(folder, LOG_FILE), "utf8")).slice(-LOG_TAIL);
}

export async function stopWorker(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const ended = once(worker, "exit");
  const kill = setTimeout(() => worker.kill("SIGKILL"), STOP_TIMEOUT_MS);
  worker.kill("SIGTERM");
  await ended;
  clearTimeout(kill);
}

async function loadOf(host: ChildProgram): Promise<ServerLoad> {
  const load = host.hear(ServerLoadSchema);
  host.tell({ kind: "ask-load" });
  return load;
}

async function untilPolled(host: ChildProgram, lanes: number): Promise<void> {
  const giveUpMs = performance.now() + LANES_TIMEOUT_MS;
  for (;;) {
    if ((await loadOf(host)).agentIds >= lanes) return;
    if (performance.now() > giveUpMs) throw new Error(`the worker does not poll with all ${lanes} lanes`);
    await sleep(100);
  }
}
