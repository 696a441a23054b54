import fc from "fast-check";
import { expect, test } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { LeaderElection } from "../../../../worker/kubernetes/leader/leader-election.ts";
import { dice } from "../../../support/dice.ts";
import { ChangingWeather } from "../../../support/simulation/changing-weather.ts";
import { Connection } from "../../../support/simulation/connection.ts";
import { Host } from "../../../support/simulation/host.ts";
import { LeaseApi } from "../../../support/simulation/lease-api.ts";
import { VirtualTime } from "../../../support/simulation/virtual-time.ts";

const LEASE = "pbnj-worker";

/** Workers on hosts of their own, at an API server in memory, in virtual time. One that loses is started again, as Kubernetes does. */
class Lab {
  readonly time = new VirtualTime();
  readonly api = new LeaseApi(() => this.time.nowMs);
  readonly weather: ChangingWeather;
  readonly alive = new Set<ReturnType<Lab["start"]>>();
  readonly wrong: string[] = [];
  readonly #random: () => number;
  #processes = 0;

  constructor(seed = 1) {
    this.#random = dice(seed);
    this.weather = new ChangingWeather(this.#random);
  }

  start(name: string, drift = 0) {
    const { time, weather } = this;
    const host = new Host(time, 1 + drift * (2 * this.#random() - 1));
    const connection = new Connection(this.api, host, time, weather);
    this.#processes += 1;
    const election = new LeaderElection({
      ...{ cluster: connection, lease: LEASE, identity: `${name}_${this.#processes}` },
      ...{ clock: host.clock, time: host.certainTime, log: silentLogger, random: this.#random },
    });
    const stop = new AbortController();
    const acquired = election.acquire(stop.signal);
    const worker = {
      ...{ name, host, connection, election },
      restarts: true,
      /** Kills the worker, like SIGKILL. */
      kill: () => {
        host.die();
        this.alive.delete(worker);
      },
      /** Stops the worker, like SIGTERM. */
      stop: () =>
        host.run(async () => {
          this.alive.delete(worker);
          stop.abort();
          await acquired;
          await election.release();
        }),
    };
    void election.lost.then(() => {
      worker.kill();
      if (worker.restarts) time.after(1_000, () => this.start(name, drift));
    });
    this.alive.add(worker);
    return worker;
  }

  readonly leaders = () => [...this.alive].filter(({ election }) => election.isLeading);

  /** After each thing that happens: one leads at most. */
  readonly look = () => {
    const names = this.leaders().map(({ name }) => name);
    if (names.length > 1) this.wrong.push(`${names} lead after ${this.time.nowMs} ms`);
  };

  run = (ms: number) => this.time.run(ms, this.look);

  /** Resolves to the time until one of them leads. */
  async untilLeads(...workers: readonly ReturnType<Lab["start"]>[]): Promise<number> {
    const fromMs = this.time.nowMs;
    await this.time.until(() => workers.some(({ election }) => election.isLeading), 60_000, this.look);
    return this.time.nowMs - fromMs;
  }
}

/** One that leads and one that follows. */
async function pair() {
  const lab = new Lab();
  const leader = lab.start("a");
  await lab.untilLeads(leader);
  const follower = lab.start("b");
  await lab.run(7_000);
  expect(lab.leaders()).toEqual([leader]);
  return { lab, leader, follower };
}

test("a follower leads within 15 s after the leader was killed", async () => {
  const { lab, leader, follower } = await pair();

  leader.kill();
  const tookMs = await lab.untilLeads(follower);

  expect(tookMs).toBeGreaterThan(10_000);
  expect(tookMs).toBeLessThanOrEqual(15_100);
  expect(follower.election.previous).toBe("a_1");
  expect(lab.wrong).toEqual([]);
});

test("a follower leads at once when the leader releases the Lease", async () => {
  const { lab, leader, follower } = await pair();

  leader.stop();
  const tookMs = await lab.untilLeads(follower);

  expect(tookMs).toBeLessThan(1_000);
  const [lease] = lab.api.leases;
  expect(lease?.spec).toMatchObject({ holderIdentity: "b_2", leaseDurationSeconds: 15, leaseTransitions: 1 });
});

test.each(["stopped", "suspended"] as const)(
  "a leader that was %s for a minute does not lead when it continues",
  async (kind) => {
    const { lab, leader, follower } = await pair();

    leader.host.pause(kind);
    await lab.untilLeads(follower);
    await lab.run(60_000);
    leader.host.goOn();
    const leads = leader.election.isLeading;
    await lab.run(5_000);
    const reason = await leader.election.lost;

    expect(leads).toBe(false);
    expect(reason).toMatch(/was not renewed for 12 s|holds the Lease/);
    expect(lab.leaders()).toEqual([follower]);
    expect(lab.wrong).toEqual([]);
  },
);

test("a leader that is cut off from the API stops leading 3 s before another one may", async () => {
  const { lab, leader, follower } = await pair();

  leader.connection.isCut = true;
  while (leader.election.isLeading) await lab.run(10);
  const withoutMs = await lab.untilLeads(follower);

  expect(withoutMs).toBeGreaterThan(2_900);
  expect(lab.wrong).toEqual([]);
});

test("an API server that takes 5 s for each answer has a leader without a gap, and a release hands over", async () => {
  const lab = new Lab();
  lab.weather.oneWayMs = 2_500;
  const leader = lab.start("a");
  await lab.untilLeads(leader);
  const follower = lab.start("b");
  let gaps = 0;
  await lab.time.run(120_000, () => {
    lab.look();
    if (!leader.election.isLeading) gaps += 1;
  });

  leader.stop();
  const tookMs = await lab.untilLeads(follower);

  expect(gaps).toBe(0);
  expect(tookMs).toBeLessThan(22_000);
  expect(lab.wrong).toEqual([]);
});

test("a renewal that is never answered leaves time for another one", async () => {
  const { lab, leader } = await pair();

  leader.connection.isCut = true;
  await lab.run(3_000);
  leader.connection.isCut = false;
  let gaps = 0;
  await lab.time.run(20_000, () => {
    if (!leader.election.isLeading) gaps += 1;
  });

  expect(gaps).toBe(0);
});

test("a leader leads on when its Lease was deleted, unless another one was faster", async () => {
  const { lab, leader, follower } = await pair();

  lab.api.remove(LEASE, {});
  await lab.run(10_000);
  const [lease] = lab.api.leases;

  // For a moment two may believe to lead: the name of each Job makes its launch unique.
  expect(lab.leaders().map(({ election }) => election.state().leader)).toEqual([
    (lease?.spec as { holderIdentity: string } | undefined)?.holderIdentity,
  ]);
  expect([leader, follower].filter(({ host }) => host.state === "dead").length).toBeLessThan(2);
});

const Trouble = fc.record({
  kind: fc.constantFrom("start", "stop", "kill", "pause", "suspend", "cut", "deafen", "storm"),
  who: fc.nat(2),
  afterMs: fc.integer({ min: 0, max: 12_000 }),
  forMs: fc.integer({ min: 100, max: 60_000 }),
});
type Trouble = typeof Trouble extends fc.Arbitrary<infer T> ? T : never;

function cause(lab: Lab, { kind, who, forMs }: Trouble): void {
  const name = ["a", "b", "c"][who] ?? "a";
  const worker = [...lab.alive].find((one) => one.name === name);
  if (kind === "storm") {
    lab.weather.storms += 1;
    lab.time.after(forMs, () => {
      lab.weather.storms -= 1;
    });
  }
  if (!worker) {
    if (kind === "start") lab.start(name, 0.005);
    return;
  }
  const { connection, host } = worker;
  if (kind === "kill" || kind === "stop") worker[kind]();
  if (kind === "deafen") connection.deafen();
  if (kind === "pause" || kind === "suspend") {
    host.pause(kind === "pause" ? "stopped" : "suspended");
    lab.time.after(forMs, () => host.goOn());
  }
  if (kind === "cut") {
    connection.isCut = true;
    connection.deafen();
    lab.time.after(forMs, () => {
      connection.isCut = false;
    });
  }
}

test("whatever happens, no two lead at a time, and one leads afterwards", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer(),
      fc.array(Trouble, { minLength: 4, maxLength: 14 }),
      async (seed, troubles) => {
        const lab = new Lab(seed);
        for (const name of ["a", "b"]) lab.start(name, 0.005);
        for (const trouble of troubles) {
          await lab.run(trouble.afterMs);
          cause(lab, trouble);
        }
        lab.start("last");
        await lab.run(120_000);

        expect(lab.wrong).toEqual([]);
        expect(lab.leaders()).toHaveLength(1);
      },
    ),
    {
      numRuns: Number(process.env["PBNJ_TEST_RUNS"] ?? 60),
      seed: Number(process.env["PBNJ_TEST_SEED"] ?? 7),
    },
  );
});
