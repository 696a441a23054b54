import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundleProgram } from "../../scripts/bundle/bundle.ts";
import { startTinkServer, type TinkServer } from "../../simulators/tink/server.ts";
import { isOver } from "../../simulators/tink/workflow.ts";
import { shardOf } from "../../worker/cluster/sharing/shards.ts";
import { holderOf, ShareLease, shardNumberOf } from "../../worker/cluster/sharing/share-lease.ts";
import { type ApiRequest, type KwokCluster, startKwokCluster } from "../fleet/kwok-cluster.ts";
import {
  agentIdOf,
  disposeOnSignals,
  logTail,
  startWorker,
  stopWorker,
  templateOf,
  writeInventory,
} from "../fleet/lab.ts";
import { percentile } from "../fleet/percentile.ts";
import { type HandOver, peakPerSecond, type ScalingFigures, type ScalingOptions } from "./measure.ts";

const GROUP = "bench";
const POD_MS = 2_200;
const START_TIMEOUT_MS = 60_000;
const LOOK_EVERY_MS = 50;
const REST_S = 30;
const SETTLE_MS = 30_000;
/** From a pod's start to the first line of its worker. */
const POD_START_MS = 3_000;
/** A workflow so often, while replicas come and go. */
const WORKFLOW_EVERY_MS = 500;
const WORKFLOWS_TIMEOUT_MS = 120_000;

const TEMPLATE = templateOf([{ name: "power-on" }], 120);

/** What `measureScaling` measures, of replicas that are processes, with a real control plane whose pods kwok simulates. */
export async function measureProcesses({
  machines,
  replicas: count,
  repeats,
}: ScalingOptions): Promise<ScalingFigures> {
  await using parts = new AsyncDisposableStack();
  disposeOnSignals(parts);
  const folder = await mkdtemp(join(tmpdir(), "pbnj-worker-bench-"));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  await bundleProgram(folder);
  // Each machine has a BMC of its own, but no action gets as far as that: kwok ends its pod.
  const ports = Array.from({ length: machines }, (_, index) => 1 + (index % 65_535));
  const inventory = await writeInventory(folder, ports);
  const agentIds = Array.from({ length: machines }, (_, index) => agentIdOf(index));
  const polls = new OpenPolls();
  const server = await startTinkServer({ onPoll: polls.open });
  parts.defer(() => server.close());
  const cluster = parts.use(await startKwokCluster(POD_MS));

  const replicas: ChildProcess[] = [];
  let started = 0;
  const start = async () => {
    const state = join(folder, `replica-${started++}`);
    await mkdir(state);
    const workerArgv = [
      ...["--runtime", "kubernetes", "--log-level", "warn"],
      ...["--share-lanes", "true", "--share-group", GROUP, ...cluster.workerArgv],
    ];
    const worker = startWorker(folder, server.address, inventory, { workerArgv, state });
    replicas.push(parts.adopt(worker, stopWorker));
  };
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    const worker = replicas.shift();
    if (!worker) throw new Error("there are no replicas");
    const ended = once(worker, "exit");
    worker.kill(signal);
    await ended;
  };

  const startedMs = Date.now();
  for (let index = 0; index < count; index++) await start();
  while (!agentIds.every((agentId) => polls.has(agentId))) {
    const hasEnded = replicas.some(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
    if (hasEnded) throw new Error(`a replica ended: ${await logTail(folder)}`);
    if (Date.now() - startedMs > START_TIMEOUT_MS) throw new Error("not every agent ID is polled");
    await sleep(LOOK_EVERY_MS);
  }
  const startMs = Date.now() - startedMs;
  const startRequests = await cluster.requests();
  await sleep(SETTLE_MS);

  const restSinceMs = Date.now();
  await sleep(REST_S * 1_000);
  const atRest = (await cluster.requests()).filter(({ atMs }) => atMs >= restSinceMs);
  const updates = atRest.filter(({ name }) => name.startsWith("update ")).length;
  const owners = await ownersOf(cluster);
  const shards = [...Map.groupBy(owners.values(), (owner) => owner).values()].map(({ length }) => length);
  const owned = [...Map.groupBy(agentIds, (agentId) => owners.get(shardOf(agentId)) ?? "").values()];

  const submitting = new AbortController();
  const submitted = submitAll(server, agentIds, submitting.signal);
  const handOvers: HandOver[] = [];
  const live = async (event: string, times: number, happen: () => Promise<void>) => {
    const sinceMs = Date.now();
    let [moves, before] = [0, await ownersOf(cluster)];
    polls.gapsMs.length = 0;
    for (let index = 0; index < times; index++) {
      await happen();
      await sleep(SETTLE_MS);
      const after = await ownersOf(cluster);
      const hasMoved = (agentId: string) => before.get(shardOf(agentId)) !== after.get(shardOf(agentId));
      moves += agentIds.filter(hasMoved).length;
      before = after;
    }
    const isWrite = ({ name, object, atMs }: ApiRequest) =>
      // Actions have Leases of their BMCs, too.
      atMs >= sinceMs && /^(create|update|delete) leases$/.test(name) && !object.includes("-bmc-");
    const writes = (await cluster.requests()).filter(isWrite);
    const gapsMs =
      polls.gapsMs.length === 0 ? [] : [0.5, 0.99, 1].map((share) => percentile(polls.gapsMs, share));
    const peakRequestsPerSecond = peakPerSecond(writes.map(({ atMs }) => atMs));
    handOvers.push({ event, moves, gapsMs, requests: writes.length, peakRequestsPerSecond });
  };
  await live(`a replica dies, another is started, ${repeats} times`, repeats, async () => {
    await end("SIGKILL");
    await sleep(POD_START_MS);
    await start();
  });
  await live(`a replica is stopped, another is started, ${repeats} times`, repeats, async () => {
    await end("SIGTERM");
    await sleep(POD_START_MS);
    await start();
  });
  await live("a replica joins", 1, start);
  await live("a replica leaves", 1, () => end("SIGTERM"));
  submitting.abort();
  const workflows = await submitted;
  const created = (await cluster.requests()).filter(
    ({ name, status }) => name === "create jobs" && status === 201,
  );
  const sizes = owned.map(({ length }) => length);
  return {
    agentIds: { least: Math.min(...sizes), median: percentile(sizes, 0.5), most: Math.max(...sizes) },
    shards: { least: Math.min(...shards), most: Math.max(...shards) },
    rest: { update: updates / REST_S, otherRequests: (atRest.length - updates) / REST_S },
    ...{ startMs, startRequests: startRequests.length },
    startPeak: peakPerSecond(startRequests.map(({ atMs }) => atMs)),
    ...{ handOvers, doubles: polls.doubles },
    actions: {
      workflows: workflows.length,
      failed: workflows.filter((each) => each !== "SUCCESS"),
      jobs: created.length,
    },
  };
}

/** By shard, the replica whose Lease it is. */
async function ownersOf(cluster: KwokCluster): Promise<ReadonlyMap<number, string>> {
  const owners = new Map<number, string>();
  for (const object of await cluster.leases()) {
    const lease = ShareLease.parse(object);
    const [shard, holder] = [shardNumberOf(GROUP, lease), holderOf(lease)];
    if (shard !== undefined && holder !== undefined) owners.set(shard, holder);
  }
  return owners;
}

/** One workflow after the other until the signal aborts. Resolves to their states when all have ended. */
async function submitAll(
  server: TinkServer,
  agentIds: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  for (let index = 0; !signal.aborted; index++) {
    const agent = agentIds[index % agentIds.length] ?? "";
    server.submit({ template: TEMPLATE, values: { agent } });
    await sleep(WORKFLOW_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  await server.until(() => server.workflows().every(isOver), WORKFLOWS_TIMEOUT_MS);
  return server.workflows().map(({ id, state, tasks }) => {
    const [action] = tasks.flatMap(({ actions }) => actions);
    return state === "SUCCESS" ? state : `${id} ${state}: ${action?.message}`;
  });
}

/** Which agent IDs have an open poll, and how long they had none after a cancelled one. */
class OpenPolls {
  readonly #open = new Map<string, number>();
  readonly #lostMs = new Map<string, number>();
  readonly gapsMs: number[] = [];
  doubles = 0;

  has(agentId: string): boolean {
    return this.#open.has(agentId);
  }

  /** Called with each poll. Returns what is called at its end. */
  readonly open = (agentId: string) => {
    const others = this.#open.get(agentId) ?? 0;
    if (others > 0) this.doubles += 1;
    this.#open.set(agentId, others + 1);
    const lostMs = this.#lostMs.get(agentId);
    if (lostMs !== undefined) this.gapsMs.push(performance.now() - lostMs);
    this.#lostMs.delete(agentId);
    return (isCancelled: boolean) => {
      const left = (this.#open.get(agentId) ?? 1) - 1;
      this.#open.set(agentId, left);
      if (isCancelled && left === 0) this.#lostMs.set(agentId, performance.now());
    };
  };
}
