import { type Logger, silentLogger } from "../../shared/logger.ts";
import { LaneShares } from "../../worker/cluster/sharing/lane-shares.ts";
import { SHARDS, shardOf } from "../../worker/cluster/sharing/shards.ts";
import { Connection, type Weather } from "./connection.ts";
import { Host } from "./host.ts";
import { LeaseApi } from "./lease-api.ts";
import { seededRandom } from "./seeded-random.ts";
import { VirtualTime } from "./virtual-time.ts";

export interface SimulationOptions {
  readonly seed: number;
  readonly machines: number;
  readonly shards?: number;
  readonly log?: Logger;
  /** How far a replica's clock may be off, as a share. */
  readonly drift?: number;
  /** Asked anew for each thing that is sent; fair where left out. */
  readonly weather?: (random: () => number) => Weather;
}

/** Lanes stop asking within that time: a poll is aborted. */
const QUIET_MS = 50;
const GROUP = "simulated";

/** One replica: its host, its way to the API, and the agent IDs that it polls with, by the shard. */
export interface SimulatedReplica {
  readonly name: string;
  readonly host: Host;
  readonly connection: Connection;
  readonly shares: LaneShares;
  /** Whether its lanes ask as the agent IDs of a shard: owned, and begun. */
  readonly polls: ReadonlySet<number>;
  /** Resolves when it has given everything up. */
  stop(): Promise<void>;
  crash(): void;
}

/** Replicas that share agent IDs over an API in memory, all of it in time that is simulated: the code is the worker's own. */
export class Simulation {
  readonly time = new VirtualTime();
  readonly api = new LeaseApi(() => this.time.nowMs);
  readonly random: () => number;
  readonly agentIds: readonly string[];
  readonly #options: SimulationOptions;
  readonly #replicas: SimulatedReplica[] = [];
  readonly #weather: Weather;
  /** Grows whenever a replica begins or ends to poll for a shard. */
  pollChanges = 0;
  /** One agent ID of each shard that has any. */
  readonly #samples = new Map<number, string>();
  readonly sizes = new Map<number, number>();

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.random = seededRandom(options.seed);
    this.agentIds = Array.from(
      { length: options.machines },
      (_, index) => `pbnj-node-${String(index).padStart(6, "0")}`,
    );
    this.#weather = options.weather?.(this.random) ?? fair(this.random);
    for (const agentId of this.agentIds) {
      const shard = shardOf(agentId, options.shards ?? SHARDS);
      this.#samples.set(shard, agentId);
      this.sizes.set(shard, (this.sizes.get(shard) ?? 0) + 1);
    }
  }

  /** Those that are not dead, and have not stopped. */
  get replicas(): readonly SimulatedReplica[] {
    return this.#replicas;
  }

  /** Shards with agent IDs, each with one of them. */
  get samples(): ReadonlyMap<number, string> {
    return this.#samples;
  }

  start(name: string): SimulatedReplica {
    const { drift = 0, log = silentLogger, shards = SHARDS } = this.#options;
    const host = new Host(this.time, 1 + drift * (2 * this.random() - 1));
    const connection = new Connection(this.api, host, this.time, this.#weather);
    const polls = new Set<number>();
    const stop = new AbortController();
    const shares = new LaneShares({
      cluster: connection,
      group: GROUP,
      member: name,
      agentIds: () => this.agentIds,
      onOwned: async (owns) => {
        const lost: number[] = [];
        for (const [shard, sample] of this.#samples) {
          if (owns(sample)) polls.add(shard);
          else if (polls.has(shard)) lost.push(shard);
        }
        this.pollChanges += 1;
        if (lost.length === 0) return;
        await host.clock.sleep(QUIET_MS * this.random());
        for (const shard of lost) polls.delete(shard);
        this.pollChanges += 1;
      },
      clock: host.clock,
      time: host.certainTime,
      log,
      random: this.random,
      shards,
    });
    const ended = shares.run(stop.signal);
    const forget = () => {
      const at = this.#replicas.indexOf(replica);
      if (at >= 0) this.#replicas.splice(at, 1);
    };
    const replica: SimulatedReplica = {
      name,
      host,
      connection,
      shares,
      polls,
      stop: async () => {
        host.run(() => stop.abort(new Error("stopped")));
        await ended;
        forget();
      },
      crash: () => {
        host.die();
        forget();
        this.pollChanges += 1;
      },
    };
    this.#replicas.push(replica);
    return replica;
  }

  /** How many replicas poll as the agent IDs of each shard now. */
  pollers(shard: number): number {
    return this.#replicas.filter(({ host, polls }) => host.state === "running" && polls.has(shard)).length;
  }
}

/** A cluster's network on a good day: one way in 1 to 10 ms, with the time that the API takes. */
function fair(random: () => number): Weather {
  return {
    latencyMs: () => 1 + 9 * random() ** 2,
    losesRequest: () => false,
    losesAnswer: () => false,
  };
}
