import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "undici";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { startTinkServer, type TinkServer } from "../../simulators/tink/server.ts";
import { isOver, type Workflow } from "../../simulators/tink/workflow.ts";
import { LABEL } from "../../worker/runtimes/docker/container-spec.ts";
import { dockerSocketPath, removeContainers } from "../support/docker.ts";
import { WorkerProgram } from "../support/worker-program.ts";
import type { Setting } from "./attack.ts";
import { containersOf } from "./engine.ts";
import { policyText, TRUSTED } from "./policy.ts";
import { type Reach, SecretSearch } from "./secret-traces.ts";
import { Watcher } from "./watcher.ts";

const USER = "admin";
const SERVING = "serving the status page, metrics and health";
const HOSTILE_ACTIONS = join(import.meta.dirname, "hostile");
const OVER_WITHIN_MS = 60_000;

export interface Step {
  readonly name: string;
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly volumes?: readonly string[];
  readonly pid?: string;
  /** In seconds. */
  readonly timeout?: number;
}

/** A machine's entry of the inventory beside its name and credentials. */
export type Entry = Readonly<Record<string, unknown>>;

export interface LabOptions {
  readonly setting: Setting;
  /** What actions run in; containers where there is an engine and nothing is said. */
  readonly runtime?: "process" | "in-process";
  /** Only the hostile action is there, where there are no containers. */
  readonly hostile?: true;
  readonly machines?: readonly string[];
  readonly machineOptions?: SimulatedMachineOptions;
  readonly bmcOptions?: RedfishBmcOptions;
  /** Further machines, or other entries for those that there are. */
  readonly entries?: Readonly<Record<string, Entry>>;
  readonly policy?: Readonly<Record<string, unknown>>;
  readonly argv?: readonly string[];
  readonly reach?: Reach;
  /** Of every BMC; one of its own when absent. */
  readonly password?: string;
  /** How long the tink server holds what it refuses. */
  readonly holdMs?: number;
  /** In the place of the simulated one. */
  readonly serverAddress?: string;
}

/** Each form of it differs from the others. IPMI takes 20 bytes at most. */
export function newPassword(): string {
  return `${randomBytes(3).toString("hex")}Wq"p&/+%7z`;
}

/** A worker that is attacked: the real program, with a tink server, machines behind Redfish BMCs and a password of its own. */
export async function openLab(options: LabOptions) {
  const { setting, machines: names = ["node-1"], entries, holdMs = 1_000 } = options;
  const id = randomBytes(3).toString("hex");
  const password = options.password ?? newPassword();
  let submitted = 0;
  const folder = await mkdtemp(join(tmpdir(), "pbnj-attack-"));
  const stateDirectory = join(folder, "state");
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  const server = await startTinkServer({ holdMs });
  const machines = new Map(
    names.map((name) => [name, new SimulatedMachine({ name, ...options.machineOptions })] as const),
  );
  const bmcs = new Map(
    await Promise.all(
      [...machines].map(async ([name, machine]) => {
        const bmc = await startRedfishBmc({
          machines: [machine],
          tls: "http",
          password,
          ...options.bmcOptions,
        });
        return [name, bmc] as const;
      }),
    ),
  );
  const listed: Readonly<Record<string, Entry>> = {
    ...Object.fromEntries(
      [...bmcs].map(([name, { port }]) => [
        name,
        { providers: ["redfish"], redfish: { port, scheme: "http" } },
      ]),
    ),
    ...entries,
  };
  const inventory = {
    defaults: { credentials: { username: USER, passwordFile } },
    machines: Object.entries(listed).map(([name, entry]) => ({ name, host: "127.0.0.1", ...entry })),
  };
  const inventoryFile = join(folder, "inventory.yaml");
  const policyFile = join(folder, "policy.yaml");
  await writeFile(inventoryFile, JSON.stringify(inventory));
  await writeFile(policyFile, policyText(options.policy));
  const runtime = options.runtime ?? (setting.containers ? "docker" : "process");
  const agentIds = [...Object.keys(listed), "spare"].map((name) => agentIdOf(id, name));
  const argv = [
    ...["start", "--grpc-server", options.serverAddress ?? server.address, "--inventory", inventoryFile],
    ...["--policy", policyFile, "--agent-id-pattern", `${id}-{machine}`, "--state-directory", stateDirectory],
    ...["--runtime", runtime, "--stop-grace", "1s", "--backoff-max-interval", "300ms"],
    // An agent ID of no machine.
    ...["--agent-id", agentIdOf(id, "spare")],
    ...(runtime === "docker"
      ? ["--docker-socket", dockerSocketPath, "--pull-policy", "never", "--docker-network", "host"]
      : []),
    ...(runtime === "process" && options.hostile ? ["--actions-directory", HOSTILE_ACTIONS] : []),
    ...(options.argv ?? ["--http-address", "127.0.0.1:0"]),
  ];
  const workers: WorkerProgram[] = [];
  const start = () => {
    const worker = new WorkerProgram(argv);
    workers.push(worker);
    return worker;
  };
  const worker = start();
  const search = new SecretSearch(password, options.reach);
  const found = new Set<string>();
  const look = (where: string, content: string | Buffer) => {
    for (const form of search.in(content)) found.add(`the password is in ${where} (${form})`);
  };
  const watcher = new Watcher({
    ...{ pid: worker.child.pid ?? 0, stateDirectory, agentIds, look },
    containers: runtime === "docker",
  });

  const lab = {
    id,
    folder,
    stateDirectory,
    inventoryFile,
    password,
    server,
    worker,
    argv,
    /** Another worker with the same settings. */
    start,

    machine(name = "node-1"): SimulatedMachine {
      const found = machines.get(name);
      if (!found) throw new Error(`the lab has no machine ${name}`);
      return found;
    },

    bmc(name = "node-1") {
      const found = bmcs.get(name);
      if (!found) throw new Error(`the lab has no BMC ${name}`);
      return found;
    },

    submit: (machine: string, ...steps: readonly Step[]): Workflow =>
      server.submit({
        name: `w-${id}-${submitted++}`,
        template: templateOf(agentIdOf(id, machine), steps),
      }),

    /** Runs one action to its end. */
    async run(machine: string, step: Step, withinMs = OVER_WITHIN_MS): Promise<Ended> {
      const workflow = lab.submit(machine, step);
      return ended(server, workflow, withinMs);
    },

    ended: (workflow: Workflow, withinMs = OVER_WITHIN_MS) => ended(server, workflow, withinMs),

    async url(): Promise<string> {
      return String((await worker.untilLogged(SERVING))["address"]);
    },

    async page(path: string): Promise<string> {
      const response = await fetch(`${await lab.url()}${path}`, { signal: AbortSignal.timeout(5_000) });
      return response.text();
    },

    /** How long /healthz takes for as long as something lasts, in milliseconds. */
    async latencies(during: Promise<unknown>): Promise<readonly number[]> {
      const client = new Client(await lab.url());
      const measured: number[] = [];
      let over = false;
      const end = () => {
        over = true;
      };
      during.then(end, end);
      while (!over) {
        const before = performance.now();
        // A worker that does not answer at all has taken this long.
        await client
          .request({ method: "GET", path: "/healthz", headersTimeout: 20_000 })
          .then(({ body }) => body.dump())
          .catch(() => undefined);
        measured.push(performance.now() - before);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await client.close();
      return measured;
    },

    /** Everywhere that the password was found. */
    async leaks(): Promise<readonly string[]> {
      for (const path of ["/", "/actions", "/agent-ids", "/status.json", "/metrics"]) {
        look(`the page ${path}`, await lab.page(path).catch(() => ""));
      }
      const status = await lab.page("/status.json").catch(() => "");
      for (const [, key] of status.matchAll(/"key":"([0-9a-f]{32})"/g)) {
        look("an action's page", await lab.page(`/actions/${key}`).catch(() => ""));
      }
      for (const each of workers) {
        look("the worker's log", each.stderr);
        look("the worker's output", each.stdout);
      }
      look("a message of the workflow", JSON.stringify(server.reports));
      await watcher.end();
      return [...found];
    },

    async [Symbol.asyncDispose]() {
      await watcher.end();
      for (const each of workers) await each[Symbol.asyncDispose]();
      if (runtime === "docker") await removeContainers(...(await containersOf(agentIds, LABEL.agent)));
      await server.close();
      for (const bmc of bmcs.values()) await bmc.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return lab;
}

export interface Ended {
  /** `STUCK` when it had not ended in time. */
  readonly state: string;
  readonly message: string;
  readonly tookMs: number;
}

async function ended(server: TinkServer, workflow: Workflow, withinMs: number): Promise<Ended> {
  const from = performance.now();
  const over = await server
    .until(() => isOver(workflow), withinMs)
    .then(
      () => true,
      () => false,
    );
  const messages = workflow.tasks.flatMap(({ actions }) => actions.map(({ message }) => message));
  const state = over ? workflow.state : "STUCK";
  return { state, message: messages.join("\n"), tookMs: performance.now() - from };
}

function agentIdOf(id: string, machine: string): string {
  return `${id}-${machine}`;
}

export function templateOf(worker: string, steps: readonly Step[]): string {
  const actions = steps.map(({ name, image = `${TRUSTED}/${name}:test`, timeout = 20, ...rest }) => ({
    ...{ name, image, timeout },
    ...rest,
  }));
  const tasks = [{ name: "bmc", worker, actions }];
  return JSON.stringify({ version: "0.1", name: "attack", global_timeout: 600, tasks });
}

/** Closes a simulator at the end of an attack. */
export function closing<T extends { close(): Promise<void> }>(simulator: T): T & AsyncDisposable {
  return Object.assign(simulator, { [Symbol.asyncDispose]: () => simulator.close() });
}

export function percentile(measured: readonly number[], share: number): number {
  const sorted = measured.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** What a step of the hostile action prints. */
export function printing(text: string): string {
  return `out:${Buffer.from(text).toString("base64")}`;
}

/** The most that a process had in memory so far (proc_pid_status(5), VmHWM). */
export async function megabytesOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024;
}
