import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "undici";
import type { SimulatedMachineOptions } from "../../simulators/machine.ts";
import { isOver, type Workflow } from "../../simulators/tink/workflow.ts";
import { LABEL } from "../../worker/runtimes/docker/container-spec.ts";
import { dockerSocketPath, removeContainers } from "../support/docker.ts";
import { openLab as openBase, type RackOptions, type Step } from "../support/lab.ts";
import { WorkerProgram } from "../support/worker-program.ts";
import type { Setting } from "./attack.ts";
import { containersOf } from "./engine.ts";
import { policyText, TRUSTED } from "./policy.ts";
import { type Reach, SecretSearch } from "./secret-traces.ts";
import { Watcher } from "./watcher.ts";

const SERVING = "serving the status page, metrics and health";
const HOSTILE_ACTIONS = join(import.meta.dirname, "hostile");
const OVER_WITHIN_MS = 60_000;

/** A machine's entry of the inventory beside its name and credentials. */
export type Entry = Readonly<Record<string, unknown>>;

export interface LabOptions
  extends Pick<RackOptions, "providers" | "bmc" | "ipmi" | "entry" | "entries" | "password"> {
  readonly setting: Setting;
  /** What actions run in; containers where there is an engine and nothing is said. */
  readonly runtime?: "process" | "in-process";
  /** Only the hostile action is there, where there are no containers. */
  readonly hostile?: true;
  readonly machines?: readonly string[];
  readonly machineOptions?: SimulatedMachineOptions;
  readonly policy?: Readonly<Record<string, unknown>>;
  readonly argv?: readonly string[];
  readonly reach?: Reach;
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
  const { setting, machines = ["node-1"], machineOptions = {}, holdMs = 1_000, ...rest } = options;
  const {
    entries = {},
    password = newPassword(),
    runtime = setting.containers ? "docker" : "process",
  } = options;
  const id = randomBytes(3).toString("hex");
  const agentIdOf = (machine: string) => `${id}-${machine}`;
  const agentIds = [...machines, ...Object.keys(entries), "spare"].map(agentIdOf);
  let submitted = 0;
  const base = await openBase({
    ...rest,
    machines: Object.fromEntries(machines.map((name) => [name, machineOptions])),
    ...{ password, server: { holdMs }, policy: policyText(options.policy) },
    argv: [
      ...["--agent-id-pattern", `${id}-{machine}`, "--runtime", runtime, "--stop-grace", "1s"],
      // An agent ID of no machine.
      ...["--agent-id", agentIdOf("spare")],
      ...(runtime === "docker" ? dockerArgv() : []),
      ...(runtime === "process" && options.hostile ? ["--actions-directory", HOSTILE_ACTIONS] : []),
      ...(options.serverAddress ? ["--grpc-server", options.serverAddress] : []),
      ...(options.argv ?? ["--http-address", "127.0.0.1:0"]),
    ],
  });
  if (runtime === "docker")
    base.defer(async () => removeContainers(...(await containersOf(agentIds, LABEL.agent))));
  const { server } = base;
  const stateDirectory = base.path("state");
  const workers: WorkerProgram[] = [];
  const start = () => {
    const worker = base.own(new WorkerProgram(base.argv()));
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

  async function ended(workflow: Workflow, withinMs = OVER_WITHIN_MS): Promise<Ended> {
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

  const lab = {
    ...base,
    ...{ stateDirectory, password, worker, ended },
    /** Another worker with the same settings. */
    start,

    submit: (machine: string, ...steps: readonly Step[]): Workflow =>
      base.submitAs({ name: `w-${id}-${submitted++}` }, agentIdOf(machine), ...steps.map(trusted)),

    /** Runs one action to its end. */
    run: async (machine: string, step: Step, withinMs?: number): Promise<Ended> =>
      ended(lab.submit(machine, step), withinMs),

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
      await base[Symbol.asyncDispose]();
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

/** The settings of a worker on this host's engine, whose images are there. */
export function dockerArgv(): readonly string[] {
  return ["--docker-socket", dockerSocketPath, "--pull-policy", "never", "--docker-network", "host"];
}

/** With the image of a test's action, and little time. */
export const trusted = (step: Step): Step => ({
  ...{ image: `${TRUSTED}/${step.name}:test`, timeout: 20 },
  ...step,
});

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
