import fc from "fast-check";
import { expect, test } from "vitest";
import { ChangingWeather } from "../../../../bench/scaling/changing-weather.ts";
import { type SimulatedReplica, Simulation } from "../../../../bench/scaling/simulation.ts";
import { KubernetesError } from "../../../../worker/cluster/client/kubernetes-error.ts";

const SHARDS = 12;
const NAMES = ["a", "b", "c", "d", "e"] as const;
/** Lanes stop polling within that time after a loss; one that was stopped has to wake up first. */
const WAKING_MS = 1_000;
/** The longest chain: an old watch is found out, a dead member's lease runs out, its lanes are taken. */
const QUIET_MS = 120_000;

const Trouble = fc.record({
  kind: fc.constantFrom(
    "start",
    "stop",
    "crash",
    "freeze",
    "suspend",
    "cut",
    "deafen",
    "break-watches",
    "forget-history",
    "storm",
  ),
  who: fc.nat(NAMES.length - 1),
  afterMs: fc.integer({ min: 0, max: 12_000 }),
  forMs: fc.integer({ min: 100, max: 40_000 }),
});
type Trouble = typeof Trouble extends fc.Arbitrary<infer T> ? T : never;

class Chaos {
  readonly simulation: Simulation;
  readonly #weather: ChangingWeather;
  readonly #byName = new Map<string, SimulatedReplica>();
  readonly #wokenMs = new Map<SimulatedReplica, number>();
  readonly stopping: Promise<void>[] = [];
  /** What must never be. */
  readonly wrong: string[] = [];
  changes = 0;

  constructor(seed: number) {
    let weather: ChangingWeather | undefined;
    this.simulation = new Simulation({
      seed,
      machines: 40,
      shards: SHARDS,
      drift: 0.005,
      weather: (random) => {
        weather = new ChangingWeather(random);
        return weather;
      },
    });
    if (!weather) throw new Error("a simulation makes its weather");
    this.#weather = weather;
  }

  start(name: string): void {
    if (this.#byName.has(name)) return;
    this.#byName.set(name, this.simulation.start(name));
  }

  cause({ kind, who, forMs }: Trouble): void {
    const { time, api } = this.simulation;
    const name = NAMES[who] ?? NAMES[0];
    const replica = this.#byName.get(name);
    if (kind === "start") this.start(name);
    if (kind === "forget-history") api.forgetHistory();
    if (kind === "storm") {
      this.#weather.storms += 1;
      time.after(forMs, () => {
        this.#weather.storms -= 1;
      });
    }
    if (!replica) return;
    const { host, connection } = replica;
    switch (kind) {
      case "stop":
        this.#byName.delete(name);
        this.stopping.push(replica.stop());
        break;
      case "crash":
        this.#byName.delete(name);
        replica.crash();
        break;
      case "freeze":
      case "suspend":
        host.pause(kind === "freeze" ? "stopped" : "suspended");
        time.after(forMs, () => {
          this.#wokenMs.set(replica, time.nowMs);
          host.goOn();
        });
        break;
      case "cut":
        connection.isCut = true;
        // What was on its way over a broken connection does not come later.
        connection.deafen();
        time.after(forMs, () => {
          connection.isCut = false;
        });
        break;
      case "deafen":
        connection.deafen();
        break;
      case "break-watches":
        connection.breakWatches(new KubernetesError("unreachable", "reset"));
        break;
      case "start":
      case "forget-history":
      case "storm":
        break;
      default:
        kind satisfies never;
    }
  }

  /** No two own an agent ID, and no two that run ask as it. */
  look(): void {
    const { time, samples, replicas } = this.simulation;
    for (const [shard, agentId] of samples) {
      const owners = replicas.filter(({ host, shares }) => host.state !== "dead" && shares.owns(agentId));
      const asking = replicas.filter(
        (replica) =>
          replica.host.state === "running" &&
          replica.polls.has(shard) &&
          time.nowMs - (this.#wokenMs.get(replica) ?? Number.NEGATIVE_INFINITY) > WAKING_MS,
      );
      for (const [several, what] of [
        [owners, "own"],
        [asking, "ask as"],
      ] as const) {
        if (several.length > 1)
          this.wrong.push(`${several.map(({ name }) => name)} ${what} ${agentId} at ${time.nowMs} ms`);
      }
    }
  }
}

async function survive(seed: number, troubles: readonly Trouble[]): Promise<void> {
  const chaos = new Chaos(seed);
  const { simulation } = chaos;
  const look = () => chaos.look();
  for (const name of NAMES.slice(0, 3)) chaos.start(name);
  await simulation.time.run(15_000, look);

  for (const trouble of troubles) {
    await simulation.time.run(trouble.afterMs, look);
    chaos.cause(trouble);
  }
  await simulation.time.run(45_000, look);
  chaos.start("last");
  await simulation.time.run(QUIET_MS, look);

  expect(chaos.wrong).toEqual([]);
  await Promise.all(chaos.stopping);
  const { replicas, samples } = simulation;
  for (const [shard, agentId] of samples) {
    const owners = replicas.filter(({ shares }) => shares.owns(agentId)).map(({ name }) => name);
    expect(owners, `owners of ${agentId}`).toHaveLength(1);
    expect(simulation.pollers(shard), `who asks as ${agentId}`).toBe(1);
  }
  const counts = replicas.map(({ shares }) => shares.state().ownedShards);
  expect(Math.max(...counts) - Math.min(...counts), `shares of ${counts}`).toBeLessThanOrEqual(1);
}

test("no two replicas ever own or poll an agent ID, whatever happens, and each has an owner afterwards", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.array(Trouble, { minLength: 4, maxLength: 14 }), survive),
    {
      numRuns: Number(process.env["PBNJ_TEST_RUNS"] ?? 40),
      seed: Number(process.env["PBNJ_TEST_SEED"] ?? 7),
      endOnFailure: false,
    },
  );
}, 300_000);
