import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { median } from "../figures.ts";
import type { FarmCount } from "./bmc-farm.ts";
import { startKwokCluster } from "./kwok-cluster.ts";
import { type Lab, startLab, templateOf } from "./lab.ts";
import { percentile } from "./percentile.ts";
import { childrenBytes, figuresOf } from "./process-figures.ts";
import { idealMs } from "./schedule.ts";
import type { ActionTimes, ServerLoad } from "./tink-host.ts";

export interface FleetOptions {
  readonly machines: number;
  /** One of the worker's, or `bare`. */
  readonly runtime: string;
  /** Default: the worker's own. */
  readonly maxActions: number;
  readonly latencyMs: number;
  readonly transitionMs: number;
  readonly nodeArgv: readonly string[];
  readonly wakesUp?: boolean;
  readonly tls?: boolean;
}

export interface FleetFigures {
  readonly actions: number;
  readonly failed: readonly string[];
  /** Machines at which a power command was carried out twice. */
  readonly repeated: number;
  readonly totalMs: number;
  readonly idealMs: number;
  /** Duration of each action on the idle worker, by name. */
  readonly ownMs: Readonly<Record<string, number>>;
  readonly queueingMs: Spread;
  readonly overheadMs: Spread;
  /** Time per machine, from the start of its first action to the end of its last one. */
  readonly machineMs: Spread;
  readonly memory: { readonly workerBytes: number; readonly childrenBytes: number };
  /** CPU time of the worker, and the part of it that its child processes used. */
  readonly cpuMs: { readonly worker: number; readonly children: number };
  /** Requests to the API server per action, the most frequent ones first; with the Kubernetes runtime. */
  readonly apiRequests?: readonly (readonly [string, number])[];
  readonly bmcRequests: number;
  readonly server: Pick<ServerLoad, "polls" | "reports" | "connections">;
  /** CPU time of the tink server and the BMCs, which share the machine with the worker. */
  readonly othersCpuMs: number;
}

/** The percentiles 50, 95 and 99. */
export type Spread = readonly [number, number, number];

/** The workflow of each machine: it is switched off and booted from the network. */
const STEPS = [
  { name: "power-off", environment: { MODE: "hard" } },
  { name: "set-pxe-once", environment: {} },
  { name: "power-on", environment: {} },
];
const SOLO_RUNS = 3;
const BARE_WORKER = fileURLToPath(new URL("bare-worker.ts", import.meta.url));
const SAMPLE_EVERY_MS = 1_000;
/** Beyond this many times the ideal something is broken. */
const GIVE_UP_FACTOR = 10;
const ACTION_TIMEOUT_S = 3_000;

const template = templateOf(STEPS, ACTION_TIMEOUT_S);

/**
 * Reprovisions some machines one after the other on the otherwise idle worker, which gives each action's own time,
 * and then all others at once.
 */
export async function measureFleet(options: FleetOptions): Promise<FleetFigures> {
  const { machines, runtime, maxActions, latencyMs, transitionMs, nodeArgv } = options;
  const { wakesUp = false, tls = false } = options;
  await using cluster =
    runtime === "kubernetes" ? await startKwokCluster(latencyMs + transitionMs) : undefined;
  await using lab = await startLab({
    machines: machines + SOLO_RUNS,
    latencyMs,
    transitionMs,
    workerArgv: [
      ...["--runtime", runtime, "--max-actions", String(maxActions), "--log-level", "info"],
      ...(cluster?.workerArgv ?? []),
    ],
    nodeArgv,
    wakesUp,
    tls,
    ...(runtime === "bare" && { program: BARE_WORKER }),
  });
  const ownMs = await ownTimes(lab, latencyMs, transitionMs);
  const steps = STEPS.map(({ name }) => ownMs[name] ?? 0);
  const ideal = idealMs(machines, steps, maxActions);

  const pids = [lab.hostPid, ...lab.farmPids];
  const requestsBefore = (await cluster?.requests())?.length;
  const [bmcsBefore, loadBefore] = [await lab.counts(), await lab.load()];
  const before = await figuresOf(lab.workerPid);
  const othersBefore = await cpuOf(pids);
  const sampling = new AbortController();
  const children = sampleChildren(lab.workerPid, sampling.signal);
  const { actions } = await lab.run({
    name: "fleet",
    template,
    machines: Array.from({ length: machines }, (_, index) => SOLO_RUNS + index),
    withinMs: ideal * GIVE_UP_FACTOR + 60_000,
  });
  const after = await figuresOf(lab.workerPid);
  sampling.abort();
  const [counts, load] = [await lab.counts(), await lab.load()];
  const requests = ((await cluster?.requests()) ?? []).slice(requestsBefore);
  const apiRequests = [...Map.groupBy(requests, ({ name }) => name)]
    .map(([name, { length }]) => [name, length / actions.length] as const)
    .filter(([, count]) => count >= 0.01)
    .toSorted((a, b) => b[1] - a[1]);
  return {
    ...(cluster && { apiRequests }),
    actions: actions.length,
    failed: actions
      .filter(({ state }) => state !== "SUCCESS")
      .map(({ name, state, message }) => `${name} ${state}: ${message}`),
    repeated: counts.reduce((sum, { repeated }) => sum + repeated, 0),
    bmcRequests: requestsOf(counts) - requestsOf(bmcsBefore),
    server: {
      polls: load.polls - loadBefore.polls,
      reports: load.reports - loadBefore.reports,
      connections: load.connections,
    },
    totalMs: Math.max(...actions.map(({ endedMs }) => endedMs ?? 0)),
    idealMs: ideal,
    ownMs,
    queueingMs: spread(actions.flatMap(({ readyMs, runningMs }) => (runningMs ?? Number.NaN) - readyMs)),
    overheadMs: spread(actions.map((action) => heldMs(action) - (ownMs[action.name] ?? 0))),
    machineMs: spread([...Map.groupBy(actions, ({ agentId }) => agentId).values()].map(machineMs)),
    memory: { workerBytes: after?.peakBytes ?? 0, childrenBytes: await children },
    cpuMs: {
      worker: (after?.cpuMs ?? 0) - (before?.cpuMs ?? 0),
      children: (after?.childrenCpuMs ?? 0) - (before?.childrenCpuMs ?? 0),
    },
    othersCpuMs: (await cpuOf(pids)) - othersBefore,
  };
}

function requestsOf(counts: readonly FarmCount[]): number {
  return counts.reduce((sum, { requests }) => sum + requests, 0);
}

/** The median of what each action took from its start to its end as the worker reported them. */
async function ownTimes(
  lab: Lab,
  latencyMs: number,
  transitionMs: number,
): Promise<Readonly<Record<string, number>>> {
  const times: ActionTimes[] = [];
  for (let run = 0; run < SOLO_RUNS; run += 1) {
    const withinMs = 120_000 + 100 * latencyMs + 20 * transitionMs;
    const { actions } = await lab.run({ name: `solo-${run}`, template, machines: [run], withinMs });
    times.push(...actions);
  }
  const failed = times.find(({ state }) => state !== "SUCCESS");
  if (failed) throw new Error(`${failed.name} failed on the idle worker: ${failed.message}`);
  return Object.fromEntries(
    STEPS.map(({ name }) => [
      name,
      median(times.flatMap((each) => (each.name === name ? [each.tookMs ?? heldMs(each)] : []))),
    ]),
  );
}

function heldMs({ runningMs, endedMs }: ActionTimes): number {
  return (endedMs ?? Number.NaN) - (runningMs ?? Number.NaN);
}

function machineMs(actions: readonly ActionTimes[]): number {
  const started = actions.map(({ runningMs = Number.NaN }) => runningMs);
  const ended = actions.map(({ endedMs = Number.NaN }) => endedMs);
  return Math.max(...ended) - Math.min(...started);
}

function spread(values: readonly number[]): Spread {
  return [percentile(values, 0.5), percentile(values, 0.95), percentile(values, 0.99)];
}

async function cpuOf(pids: readonly number[]): Promise<number> {
  const figures = await Promise.all(pids.map(figuresOf));
  return figures.reduce((sum, each) => sum + (each?.cpuMs ?? 0), 0);
}

/** The most memory that the worker's children had together at one time. */
async function sampleChildren(pid: number, signal: AbortSignal): Promise<number> {
  let most = 0;
  while (!signal.aborted) {
    most = Math.max(most, await childrenBytes(pid));
    await sleep(SAMPLE_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return most;
}
