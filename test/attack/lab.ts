import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "undici";
import { isOver } from "../../simulators/tink/workflow.ts";
import { LABEL } from "../../worker/runtimes/docker/container-spec.ts";
import { dockerSocketPath, removeContainers } from "../support/docker.ts";
import { openLab as openBase, type RackOptions, type Step } from "../support/lab.ts";
import { WorkerProgram } from "../support/worker-program.ts";
import type { Setting } from "./attack.ts";
import { containersOf } from "./engine.ts";
import { policyText, TRUSTED } from "./policy.ts";

const SERVING = "serving the status page, metrics and health";
const HOSTILE_ACTIONS = join(import.meta.dirname, "hostile");
const OVER_WITHIN_MS = 60_000;

export interface LabOptions extends Pick<RackOptions, "entries"> {
  readonly setting: Setting;
  /** What actions run in; containers where there is an engine and nothing is said. */
  readonly runtime?: "in-process";
  /** Only the hostile action is there, where there are no containers. */
  readonly hostile?: true;
  readonly machines?: readonly string[];
  readonly argv?: readonly string[];
}

/** Each form of it differs from the others. IPMI takes 20 bytes at most. */
export function newPassword(): string {
  return `${randomBytes(3).toString("hex")}Wq"p&/+%7z`;
}

/** A worker that is attacked: the real program, with a tink server, machines behind Redfish BMCs and a password of its own. */
export async function openLab(options: LabOptions) {
  const { setting, machines = ["node-1"], entries = {} } = options;
  const runtime = options.runtime ?? (setting.containers ? "docker" : "process");
  const id = randomBytes(3).toString("hex");
  const agentIdOf = (machine: string) => `${id}-${machine}`;
  const agentIds = [...machines, ...Object.keys(entries)].map(agentIdOf);
  let submitted = 0;
  const base = await openBase({
    machines: Object.fromEntries(machines.map((name) => [name, {}])),
    ...{ entries, password: newPassword(), server: { holdMs: 1_000 }, policy: policyText() },
    argv: [
      ...["--agent-id-pattern", `${id}-{machine}`, "--runtime", runtime, "--stop-grace", "1s"],
      ...(runtime === "docker" ? dockerArgv() : []),
      ...(runtime === "process" && options.hostile ? ["--actions-directory", HOSTILE_ACTIONS] : []),
      ...(options.argv ?? ["--http-address", "127.0.0.1:0"]),
    ],
  });
  if (runtime === "docker")
    base.defer(async () => removeContainers(...(await containersOf(agentIds, LABEL.agent))));
  const { server } = base;
  const worker = base.own(new WorkerProgram(base.argv()));
  const url = async () => String((await worker.untilLogged(SERVING))["address"]);

  return {
    ...base,
    worker,
    url,

    /** Runs one action to its end. */
    async run(machine: string, step: Step, withinMs = OVER_WITHIN_MS): Promise<Ended> {
      const name = `w-${id}-${submitted++}`;
      const workflow = base.submitAs({ name }, agentIdOf(machine), trusted(step));
      const from = performance.now();
      const over = await server
        .until(() => isOver(workflow), withinMs)
        .then(
          () => true,
          () => false,
        );
      return { state: over ? workflow.state : "STUCK", tookMs: performance.now() - from };
    },

    /** How long /healthz takes for as long as something lasts, in milliseconds. */
    async latencies(during: Promise<unknown>): Promise<readonly number[]> {
      const client = new Client(await url());
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
  };
}

export interface Ended {
  /** `STUCK` when it had not ended in time. */
  readonly state: string;
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
