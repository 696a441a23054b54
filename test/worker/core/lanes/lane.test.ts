import { describe, expect, it } from "vitest";
import type { Clock } from "../../../../shared/clock.ts";
import { type Logger, silentLogger } from "../../../../shared/logger.ts";
import type { Action } from "../../../../worker/core/action/action.ts";
import { noObserver } from "../../../../worker/core/action/observer.ts";
import { runLane } from "../../../../worker/core/lanes/lane.ts";
import type { LaneOptions } from "../../../../worker/core/lanes/lane-options.ts";
import { ServerLoad } from "../../../../worker/core/lanes/server-load.ts";
import type { ActionSource, Poll, WorkflowSet } from "../../../../worker/core/ports/source.ts";
import { alwaysAwake, type Wake, type Waking } from "../../../../worker/core/ports/source.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";

function actionOf(workflowId: string, name = "power-off"): Action {
  return {
    workflowId,
    taskId: "bmc",
    agentId: "pbnj",
    actionId: `0/bmc/${name}`,
    name,
    image: `${name}:v1`,
    timeoutMs: 0,
    command: [],
    volumes: [],
    environment: {},
  };
}

/** Serves each workflow's next action in turn, unless that workflow is in flight. */
class ManyWorkflows implements ActionSource {
  readonly asked: Poll[] = [];
  readonly #left: string[];

  constructor(workflowIds: readonly string[]) {
    this.#left = [...workflowIds];
  }

  servesSeveral(): boolean {
    return true;
  }

  async next(_: string, signal: AbortSignal, inFlight: WorkflowSet = new Set()): Promise<Poll> {
    signal.throwIfAborted();
    const index = this.#left.findIndex((each) => !inFlight.has(each));
    const id = index < 0 ? undefined : this.#left[index];
    const poll: Poll =
      id === undefined ? { kind: "idle", reason: "nothing" } : { kind: "action", action: actionOf(id) };
    if (id !== undefined) this.#left.push(...this.#left.splice(index, 1));
    this.asked.push(poll);
    return poll;
  }

  over(workflowId: string): void {
    this.#left.splice(this.#left.indexOf(workflowId), 1);
  }
}

/** Returns these polls in order, and then idle ones. */
class OneByOne implements ActionSource {
  readonly #polls: Poll[];
  asked = 0;

  constructor(...polls: readonly Poll[]) {
    this.#polls = [...polls];
  }

  servesSeveral(): boolean {
    return false;
  }

  async next(_: string, signal: AbortSignal): Promise<Poll> {
    signal.throwIfAborted();
    this.asked += 1;
    return this.#polls.shift() ?? { kind: "idle", reason: "nothing" };
  }
}

interface Running {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

function run(
  source: ActionSource,
  execute: (action: Action) => Promise<boolean>,
  {
    clock = scaledClock(100),
    log = silentLogger,
    ...others
  }: { clock?: Clock; log?: Logger } & Partial<Pick<LaneOptions, "waking" | "observer" | "serverLoad">> = {},
): Running {
  const stop = new AbortController();
  const ended = runLane(
    { agentId: "pbnj", source, execute, clock, log, maxBackoffMs: 1_000, observer: noObserver, ...others },
    stop.signal,
  );
  return { stop, ended };
}

/** A clock on which nothing waits; it records the waits. */
function eagerClock(waited: number[]): Clock {
  let nowMs = 0;
  return {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      waited.push(ms);
      nowMs += ms;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** A clock on which no wait ends by itself. */
const stoppedClock: Clock = {
  now: () => 0,
  monotonicMs: () => 0,
  sleep: (_, signal) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    }),
};

describe("a lane of a server that serves one workflow at a time", () => {
  it("runs one action after another", async () => {
    const polls = ["a", "b"].map((id): Poll => ({ kind: "action", action: actionOf(id) }));
    const seen: string[] = [];
    const done = Promise.withResolvers<void>();
    const { stop, ended } = run(new OneByOne(...polls), async ({ workflowId }) => {
      seen.push(`${workflowId} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`${workflowId} ends`);
      if (workflowId === "b") done.resolve();
      return true;
    });

    await done.promise;
    stop.abort();
    await ended;

    expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });

  it("waits longer each time that an action is served and not run", async () => {
    const waited: number[] = [];
    const served = Array.from({ length: 12 }, (): Poll => ({ kind: "action", action: actionOf("a") }));
    const ended = Promise.withResolvers<void>();
    let times = 0;
    const lane = run(
      new OneByOne(...served),
      async () => {
        times += 1;
        if (times === 12) ended.resolve();
        return false;
      },
      { clock: eagerClock(waited) },
    );

    await ended.promise;
    lane.stop.abort();
    await lane.ended;

    expect(waited[0]).toBeLessThanOrEqual(250);
    expect(waited.at(10)).toBeGreaterThanOrEqual(15_000);
    expect(waited.at(10)).toBeLessThanOrEqual(30_000);
  });

  it("continues after a failed execution, and logs it", async () => {
    const errors: unknown[] = [];
    const log: Logger = { ...silentLogger, error: ({ error }) => errors.push(error) };
    const polls = ["a", "b"].map((id): Poll => ({ kind: "action", action: actionOf(id) }));
    const done = Promise.withResolvers<void>();
    const { stop, ended } = run(
      new OneByOne(...polls),
      async ({ workflowId }) => {
        if (workflowId === "a") throw new Error("broken");
        done.resolve();
        return true;
      },
      { log },
    );

    await done.promise;
    stop.abort();
    await ended;

    expect(errors).toEqual(["broken"]);
  });

  it("logs an outage once, and its end", async () => {
    const said: string[] = [];
    const log: Logger = {
      ...silentLogger,
      warn: (_, message) => said.push(message),
      info: (_, message) => said.push(message),
    };
    const failed: Poll = { kind: "failed", code: "Unavailable", reason: "gone" };
    const done = Promise.withResolvers<void>();
    const polls: Poll[] = [failed, failed, failed, { kind: "action", action: actionOf("a") }];
    const { stop, ended } = run(
      new OneByOne(...polls),
      async () => {
        done.resolve();
        return true;
      },
      { log },
    );

    await done.promise;
    stop.abort();
    await ended;

    expect(said).toEqual(["poll failed, retrying", "polling recovered"]);
  });
});

describe("a lane of a server that serves several workflows", () => {
  it("runs actions of all of them concurrently, and one at a time per workflow", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `workflow-${String(index).padStart(2, "0")}`);
    const source = new ManyWorkflows(names);
    const atOnce = new Set<string>();
    let most = 0;
    const release = Promise.withResolvers<void>();
    const all = Promise.withResolvers<void>();
    const { stop, ended } = run(source, async ({ workflowId }) => {
      expect(atOnce.has(workflowId)).toBe(false);
      atOnce.add(workflowId);
      most = Math.max(most, atOnce.size);
      if (atOnce.size === names.length) all.resolve();
      await release.promise;
      atOnce.delete(workflowId);
      source.over(workflowId);
      return true;
    });

    await all.promise;
    release.resolve();
    stop.abort();
    await ended;

    expect(most).toBe(50);
    expect(atOnce.size).toBe(0);
  });

  it("holds back a workflow that cannot be run, and runs the others", async () => {
    const source = new ManyWorkflows(["stuck", "well"]);
    const done = Promise.withResolvers<void>();
    const runs = { stuck: 0, well: 0 };
    const { stop, ended } = run(
      source,
      async ({ workflowId }) => {
        if (workflowId === "stuck") {
          runs.stuck += 1;
          return false;
        }
        runs.well += 1;
        if (runs.well === 40) done.resolve();
        await new Promise((resolve) => setImmediate(resolve));
        return true;
      },
      { clock: stoppedClock },
    );

    await done.promise;
    stop.abort();
    await ended;

    expect(runs.stuck).toBe(1);
  });

  it("polls at once when an action ends, and otherwise less and less often", async () => {
    const source = new ManyWorkflows(["a"]);
    const waited: number[] = [];
    const clock = scaledClock(100);
    const sleep: Clock["sleep"] = (ms, signal) => {
      waited.push(ms);
      return clock.sleep(ms, signal);
    };
    const release = Promise.withResolvers<void>();
    const twice = Promise.withResolvers<void>();
    let runs = 0;
    const { stop, ended } = run(
      source,
      async () => {
        runs += 1;
        if (runs === 1) await release.promise;
        else twice.resolve();
        return true;
      },
      { clock: { ...clock, sleep } },
    );

    await expect.poll(() => waited.length).toBeGreaterThan(7);
    const pauses = waited.slice(0, 7);
    release.resolve();
    await twice.promise;
    stop.abort();
    await ended;

    expect(pauses[0]).toBeLessThanOrEqual(250);
    expect(pauses[6]).toBeGreaterThanOrEqual(2_500);
    expect(Math.max(...waited)).toBeLessThanOrEqual(5_000);
  });

  it("does not count a slow answer as a held poll", async () => {
    const waited: number[] = [];
    const clock = eagerClock(waited);
    const slow: ActionSource = {
      servesSeveral: () => true,
      async next(_, signal) {
        await clock.sleep(3_000, signal);
        return { kind: "idle", reason: "nothing" };
      },
    };
    const { stop, ended } = run(slow, async () => true, { clock });

    await expect.poll(() => waited.length).toBeGreaterThan(12);
    stop.abort();
    await ended;

    const pauses = waited.filter((_, index) => index % 2 === 1).slice(0, 6);
    expect(pauses).toHaveLength(6);
    expect(pauses[5]).toBeGreaterThanOrEqual(2_500);
  });

  it("stops after the actions in flight", async () => {
    const source = new ManyWorkflows(["a", "b"]);
    const release = Promise.withResolvers<void>();
    const begun: string[] = [];
    let over = false;
    const { stop, ended } = run(source, async ({ workflowId }) => {
      begun.push(workflowId);
      await release.promise;
      return true;
    });
    void ended.then(() => {
      over = true;
    });

    await expect.poll(() => begun.length).toBe(2);
    stop.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(over).toBe(false);
    release.resolve();
    await ended;

    expect(begun).toEqual(["a", "b"]);
  });
});

/** Holds every poll until it is taken back, unless it has an answer. */
class Holding implements ActionSource {
  /** How many polls it got, and holds now. */
  asked = 0;
  held = 0;
  /** The next answers. */
  readonly polls: Poll[] = [];
  readonly #onAsked: (source: Holding) => void;

  constructor(onAsked: (source: Holding) => void) {
    this.#onAsked = onAsked;
  }

  servesSeveral(): boolean {
    return false;
  }

  async next(_: string, signal: AbortSignal): Promise<Poll> {
    this.asked += 1;
    this.#onAsked(this);
    const poll = this.polls.shift();
    if (poll) return poll;
    this.held += 1;
    return new Promise((_resolve, reject) => {
      const takenBack = () => {
        this.held -= 1;
        reject(signal.reason);
      };
      if (signal.aborted) takenBack();
      else signal.addEventListener("abort", takenBack, { once: true });
    });
  }
}

/** Lets a lane wait until it gets a reason to poll. */
class Bell implements Waking {
  readonly #rung: Wake[] = [];
  #waiting: PromiseWithResolvers<Wake> | undefined;
  /** The reason of the poll for each action. */
  readonly heard: Wake[] = [];
  /** How many times a lane has waited. */
  rests = 0;
  /** Resolves the next time a lane waits. */
  rested = Promise.withResolvers<void>();

  ring(why: Wake): void {
    if (this.#waiting) this.#waiting.resolve(why);
    else this.#rung.push(why);
    this.#waiting = undefined;
  }

  now(): undefined {
    return undefined;
  }

  served(_: unknown, why: Wake): void {
    this.heard.push(why);
  }

  async wait(_: string, signal: AbortSignal): Promise<Wake> {
    this.rests += 1;
    const rung = this.#rung.shift();
    if (rung) return rung;
    const waiting = Promise.withResolvers<Wake>();
    this.#waiting = waiting;
    this.rested.resolve();
    this.rested = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => waiting.resolve("unknown"), { once: true });
    return waiting.promise;
  }
}

describe("a lane with wake-ups", () => {
  it("polls once at its start, and then waits", async () => {
    const bell = new Bell();
    const states: unknown[] = [];
    const source = new Holding(() => undefined);
    const rested = bell.rested.promise;
    const { stop, ended } = run(source, async () => true, {
      waking: bell,
      observer: { ...noObserver, lane: (_, state) => states.push(state) },
    });

    await rested;
    expect(source).toMatchObject({ asked: 1, held: 0 });
    stop.abort();
    await ended;

    expect(source.asked).toBe(1);
    expect(states).toEqual(["polling", "waiting", undefined]);
  });

  it("does not poll at its start beside a hundred others that do", async () => {
    const serverLoad = new ServerLoad(stoppedClock);
    const source = new Holding(() => undefined);
    const bells = Array.from({ length: 150 }, () => new Bell());
    const lanes = bells.map((waking) =>
      run(source, async () => true, { clock: stoppedClock, waking, serverLoad }),
    );

    await Promise.all(bells.slice(100).map(({ rested }) => rested.promise));
    expect(source).toMatchObject({ asked: 100, held: 100 });

    for (const { stop } of lanes) stop.abort();
    await Promise.all(lanes.map(({ ended }) => ended));
    expect(await serverLoad.probe(async () => "sent")).toBe("sent");
  });

  it("polls at once when it is woken, and runs what it gets", async () => {
    const bell = new Bell();
    const ran = Promise.withResolvers<string>();
    const source = new Holding(() => undefined);
    const rested = bell.rested.promise;
    const { stop, ended } = run(
      source,
      async ({ workflowId }) => {
        ran.resolve(workflowId);
        return true;
      },
      { waking: bell },
    );
    await rested;

    source.polls.push({ kind: "action", action: actionOf("a") });
    bell.ring("addressed");

    expect(await ran.promise).toBe("a");
    await bell.rested.promise;
    stop.abort();
    await ended;
    // At the start, when it was woken, and for the action that may follow.
    expect(source.asked).toBe(3);
    expect(bell.heard).toEqual(["addressed"]);
  });

  it("polls again instead of being held by a server with a stale view", async () => {
    const waited: number[] = [];
    const ran = Promise.withResolvers<void>();
    const source = new Holding((asking) => {
      if (asking.asked === 4) asking.polls.push({ kind: "action", action: actionOf("a") });
    });
    const waking: Waking = {
      now: () => "addressed",
      wait: async () => "addressed",
      served: () => undefined,
    };
    const { stop, ended } = run(
      source,
      async () => {
        ran.resolve();
        return true;
      },
      { waking, clock: eagerClock(waited) },
    );

    await ran.promise;
    stop.abort();
    await ended;

    expect(waited.slice(0, 3)).toEqual([100, 200, 400]);
    expect(source.held).toBe(0);
  });

  it.each(["addressed", "unknown"] as const)(
    "%s: polls again for each completed workflow that the server may look at instead, and then lets it hold the poll",
    async (why) => {
      const waited: number[] = [];
      const asked = Promise.withResolvers<void>();
      const source = new Holding(({ asked: count }) => {
        if (count === 16) asked.resolve();
      });
      const waking: Waking = {
        now: () => why,
        wait: async () => why,
        blocking: () => 2,
        served: () => undefined,
      };
      const { stop, ended } = run(source, async () => true, { waking, clock: eagerClock(waited) });

      await asked.promise;
      await new Promise((resolve) => setImmediate(resolve));
      expect([source.asked, source.held]).toEqual([16, 1]);
      stop.abort();
      await ended;

      expect(waited).toEqual(Array.from({ length: 15 }, () => 100));
    },
  );

  it.each([
    ["lets a server hold the poll that has served an agent ID beside ended workflows at once", true, 1],
    ["polls a server again that did not serve one at once", false, 16],
  ] as const)("%s", async (_, isAtOnce, polls) => {
    const asked = Promise.withResolvers<void>();
    const source = new Holding(({ asked: count }) => {
      if (count === polls) asked.resolve();
    });
    const waking: Waking = {
      now: () => "unknown",
      wait: async () => "unknown",
      blocking: () => 2,
      served: () => undefined,
    };
    const clock = eagerClock([]);
    const serverLoad = new ServerLoad(clock);
    for (let times = 0; times < 7; times += 1) serverLoad.servedBeside(2, true);
    if (!isAtOnce) serverLoad.servedBeside(2, false);
    const { stop, ended } = run(source, async () => true, { waking, clock, serverLoad });

    await asked.promise;
    await new Promise((resolve) => setImmediate(resolve));
    expect([source.asked, source.held]).toEqual([polls, 1]);
    stop.abort();
    await ended;
  });

  it("lets the server hold the poll if wake-ups are unknown", async () => {
    const asked = Promise.withResolvers<void>();
    const source = new Holding(() => asked.resolve());
    const waited: number[] = [];
    const waking: Waking = alwaysAwake;
    const { stop, ended } = run(source, async () => true, { waking, clock: eagerClock(waited) });

    await asked.promise;
    await new Promise((resolve) => setImmediate(resolve));
    expect(source).toMatchObject({ asked: 1, held: 1 });
    expect(waited).toEqual([]);
    stop.abort();
    await ended;
  });
});
