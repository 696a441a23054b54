import { percentile } from "../fleet/percentile.ts";
import { type SimulatedReplica, Simulation } from "./simulation.ts";

export interface ScalingOptions {
  readonly machines: number;
  readonly replicas: number;
  readonly seed: number;
  /** How many times a single replica dies, leaves or joins. */
  readonly repeats: number;
}

/** How long agent IDs were without a poll, in milliseconds, and what it took to give them an owner again. */
export interface HandOver {
  readonly event: string;
  /** Agent IDs that changed their owner, counted as often as they did. */
  readonly moves: number;
  /** The times of agent IDs, 50 / 99 / 100 %; of no moves, nothing. */
  readonly gapsMs: readonly number[];
  /** Writes and deletions, with those of renewals. */
  readonly requests: number;
  readonly peakRequestsPerSecond: number;
}

export interface ScalingFigures {
  readonly agentIds: { readonly least: number; readonly median: number; readonly most: number };
  readonly shards: { readonly least: number; readonly most: number };
  /** A second, at rest. */
  readonly rest: {
    readonly update: number;
    readonly otherRequests: number;
    /** Where it is known. */
    readonly watch?: { readonly events: number; readonly bytes: number };
  };
  /** From the first start to the time when every agent ID is polled. */
  readonly startMs: number;
  readonly startRequests: number;
  readonly startPeak: number;
  readonly handOvers: readonly HandOver[];
  /** Instants at which two replicas polled for an agent ID. */
  readonly doubles: number;
  /** Where replicas are processes, which run one in each workflow. */
  readonly actions?: {
    readonly workflows: number;
    /** Why. */
    readonly failed: readonly string[];
    /** Those that the API server made. */
    readonly jobs: number;
  };
}

const REST_S = 30;
const SETTLE_MS = 30_000;
/** From a pod's start to the first line of its worker. */
const POD_START_MS = 3_000;
const OUTAGE_MS = 60_000;

/** Lets a fleet of replicas live through what happens to one, and measures. */
export async function measureScaling({
  machines,
  replicas,
  seed,
  repeats,
}: ScalingOptions): Promise<ScalingFigures> {
  const simulation = new Simulation({ seed, machines });
  const { time, api, random } = simulation;
  const watch = new PollWatch(simulation);
  let named = 0;
  const start = () => simulation.start(`worker-${named++}`);
  const any = (): SimulatedReplica => {
    const chosen = simulation.replicas[Math.floor(random() * simulation.replicas.length)];
    if (!chosen) throw new Error("there are no replicas");
    return chosen;
  };

  for (let index = 0; index < replicas; index++) time.after(5_000 * random(), start);
  const startMs = await watch.untilAllPolled();
  const startRequests = api.requests.length;
  const startPeak = peakPerSecond(api.requests.map(({ atMs }) => atMs));
  await time.run(SETTLE_MS, watch.look);

  const before = { requests: api.requests.length, events: api.watchEvents, bytes: api.watchBytes };
  await time.run(REST_S * 1_000, watch.look);
  const atRest = api.requests.slice(before.requests);
  const updates = atRest.filter(({ verb }) => verb === "update").length;
  const rest = {
    update: updates / REST_S,
    otherRequests: (atRest.length - updates) / REST_S,
    watch: {
      events: (api.watchEvents - before.events) / REST_S,
      bytes: (api.watchBytes - before.bytes) / REST_S,
    },
  };
  const states = simulation.replicas.map(({ shares }) => shares.state());
  const agentIds = states.map(({ ownedAgentIds }) => ownedAgentIds);
  const shards = states.map(({ ownedShards }) => ownedShards);

  const handOvers: HandOver[] = [];
  const live = async (event: string, happen: () => Promise<void>, settleMs = SETTLE_MS) => {
    const from = api.requests.length;
    watch.begin();
    await happen();
    await time.run(settleMs, watch.look);
    const sent = api.requests.slice(from).filter(({ verb }) => verb !== "list" && verb !== "watch");
    handOvers.push({
      event,
      ...watch.end(),
      requests: sent.length,
      peakRequestsPerSecond: peakPerSecond(sent.map(({ atMs }) => atMs)),
    });
  };
  const repeated = (event: string, happen: () => Promise<void>) =>
    live(`${event}, ${repeats} times`, async () => {
      for (let index = 0; index < repeats; index++) {
        await happen();
        await time.run(SETTLE_MS * random(), watch.look);
      }
    });

  await repeated("a replica dies, another is started", async () => {
    any().crash();
    await time.run(POD_START_MS, watch.look);
    start();
    await time.run(SETTLE_MS, watch.look);
  });
  await repeated("a replica is stopped, another is started", async () => {
    void any().stop();
    await time.run(POD_START_MS, watch.look);
    start();
    await time.run(SETTLE_MS, watch.look);
  });
  await live("a replica joins", async () => {
    start();
  });
  await live("a replica leaves", async () => {
    void any().stop();
  });
  await live("rolling update, one at a time", async () => {
    for (const old of [...simulation.replicas]) {
      start();
      await time.run(POD_START_MS + 2_000, watch.look);
      void old.stop();
      await time.run(1_000, watch.look);
    }
  });
  await live("rolling update, 25 % at a time", async () => {
    const old = [...simulation.replicas];
    const some = Math.ceil(replicas / 4);
    while (old.length > 0) {
      const leaving = old.splice(0, some);
      for (const _ of leaving) start();
      await time.run(POD_START_MS + 2_000, watch.look);
      for (const replica of leaving) void replica.stop();
      await time.run(1_000, watch.look);
    }
  });
  await live(`the API does not answer for ${OUTAGE_MS / 1_000} s`, async () => {
    for (const { connection } of simulation.replicas) {
      connection.deafen();
      connection.isCut = true;
    }
    await time.run(OUTAGE_MS, watch.look);
    for (const { connection } of simulation.replicas) {
      connection.isCut = false;
      connection.breakWatches();
    }
  });

  return {
    agentIds: {
      least: Math.min(...agentIds),
      median: percentile(agentIds, 0.5),
      most: Math.max(...agentIds),
    },
    shards: { least: Math.min(...shards), most: Math.max(...shards) },
    rest,
    startMs,
    startRequests,
    startPeak,
    handOvers,
    doubles: watch.doubles,
  };
}

/** Sees when which replica polls for the agent IDs of each shard. */
class PollWatch {
  readonly #simulation: Simulation;
  readonly #pollers = new Map<number, string | undefined>();
  readonly #since = new Map<number, number>();
  readonly #gaps: { readonly ms: number; readonly agentIds: number }[] = [];
  #moves = 0;
  #looked = -1;
  doubles = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** After each thing that happened. */
  readonly look = (): void => {
    const { time, samples, sizes, replicas, pollChanges } = this.#simulation;
    if (pollChanges === this.#looked) return;
    this.#looked = pollChanges;
    const now = new Map<number, string>();
    for (const { host, polls, name } of replicas) {
      if (host.state !== "running") continue;
      for (const shard of polls) {
        if (now.has(shard)) this.doubles += 1;
        now.set(shard, name);
      }
    }
    for (const shard of samples.keys()) {
      const poller = now.get(shard);
      const before = this.#pollers.get(shard);
      if (poller === undefined) {
        if (!this.#since.has(shard)) this.#since.set(shard, time.nowMs);
        continue;
      }
      const since = this.#since.get(shard);
      const agentIds = sizes.get(shard) ?? 0;
      if (since !== undefined) this.#gaps.push({ ms: time.nowMs - since, agentIds });
      this.#since.delete(shard);
      if (before !== poller) this.#moves += agentIds;
      this.#pollers.set(shard, poller);
    }
  };

  async untilAllPolled(): Promise<number> {
    const { time, samples } = this.#simulation;
    while (this.#pollers.size < samples.size || this.#since.size > 0) {
      await time.run(100, this.look);
      if (time.nowMs > 120_000) throw new Error("not every agent ID is polled after two minutes");
    }
    return time.nowMs;
  }

  begin(): void {
    this.#gaps.length = 0;
    this.#moves = 0;
  }

  end(): Pick<HandOver, "moves" | "gapsMs"> {
    if (this.#since.size > 0) throw new Error(`${this.#since.size} shards are not polled`);
    const gaps = this.#gaps.toSorted((a, b) => a.ms - b.ms);
    const all = gaps.reduce((sum, { agentIds }) => sum + agentIds, 0);
    const at = (share: number) => {
      let seen = 0;
      for (const { ms, agentIds } of gaps) {
        seen += agentIds;
        if (seen >= share * all) return ms;
      }
      return 0;
    };
    return { moves: this.#moves, gapsMs: gaps.length === 0 ? [] : [at(0.5), at(0.99), at(1)] };
  }
}

export function peakPerSecond(times: readonly number[]): number {
  const seconds = new Map<number, number>();
  for (const ms of times) {
    const second = Math.floor(ms / 1_000);
    seconds.set(second, (seconds.get(second) ?? 0) + 1);
  }
  return Math.max(0, ...seconds.values());
}
