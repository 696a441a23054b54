import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { silentLogger } from "../../../../shared/logger.ts";
import { Health, longestWaitMs } from "../../../../worker/features/health/health.ts";
import type { WorkerFacts } from "../../../../worker/features/shared/facts.ts";
import { type WorkerObservers, workerObservers } from "../../../../worker/features/shared/observer.ts";
import { HttpListener } from "../../../../worker/listener/http/http-listener.ts";
import { SetClock } from "../../../support/set-clock.ts";

const LONGEST_WAIT_MS = 100_000;

const Body = z.strictObject({
  ok: z.boolean(),
  checks: z.array(
    z.strictObject({ name: z.string(), ok: z.boolean(), reason: z.string().regex(/^[^\n]+$/) }),
  ),
});

const opened: HttpListener[] = [];
afterEach(async () => {
  for (const listener of opened.splice(0)) await listener.close();
});

async function healthLab(given: Partial<WorkerFacts> = {}, { hasServer = true } = {}) {
  const clock = new SetClock();
  const health = new Health({ clock, longestWaitMs: LONGEST_WAIT_MS });
  const observer: WorkerObservers = workerObservers([health.observer], (thrown) => {
    throw thrown;
  });
  const facts: WorkerFacts = {
    ...{ machines: () => [], agentIds: () => ["a", "b"], slots: () => ({ limit: 1, taken: 0 }) },
    ...{ unfinished: () => 0, checkRuntime: async () => "engine 27.1" },
    ...(hasServer && { connected: () => true }),
    ...given,
  };
  const listener = new HttpListener({ routes: health.routes(facts), log: silentLogger });
  await listener.listen({ host: "127.0.0.1", port: 0 });
  opened.push(listener);
  const ask = async (path: string) => {
    const response = await fetch(`${listener.url}${path}`);
    const { ok, checks } = Body.parse(await response.json());
    const reasons = Object.fromEntries(checks.map(({ name, reason }) => [name, reason]));
    return {
      status: response.status,
      ok,
      failing: checks.filter((check) => !check.ok).map(({ name }) => name),
      reasons,
    };
  };
  return {
    clock,
    observer,
    live: () => ask("/healthz"),
    ready: () => ask("/readyz"),
    ask,
    /** A lane asks, and is answered at once that there is nothing to do. */
    idle(agentId = "a") {
      observer.lane(agentId, "polling");
      observer.polling(agentId);
      observer.poll({ agentId, code: "OK", kind: "idle", durationMs: 0 });
    },
    fail(agentId = "a", code = "Unavailable") {
      observer.polling(agentId);
      observer.poll({ agentId, code, kind: "failed", durationMs: 0 });
      observer.lane(agentId, "failing");
    },
  };
}

describe("the worker is alive", () => {
  test("before its lanes begin, and with each of them held, busy or waiting to try again", async () => {
    const lab = await healthLab();

    const before = await lab.live();
    lab.observer.lane("held", "polling");
    lab.observer.polling("held");
    lab.observer.lane("busy", "busy");
    lab.observer.lane("failing", "polling");
    lab.fail("failing");
    lab.clock.pass(LONGEST_WAIT_MS);
    const after = await lab.live();

    expect(before).toMatchObject({ status: 200, ok: true });
    expect(after).toEqual({ status: 200, ok: true, failing: [], reasons: { lanes: "3 lanes are healthy" } });
  });

  test("while an action takes a day", async () => {
    const lab = await healthLab();
    lab.observer.lane("busy", "busy");

    lab.clock.pass(24 * 3_600_000);

    expect(await lab.live()).toMatchObject({ status: 200 });
  });

  test("while the tink server, the engine and the disk are away", async () => {
    const lab = await healthLab({
      connected: () => false,
      checkRuntime: () => Promise.reject(new Error("no engine")),
    });
    lab.observer.lane("a", "polling");
    for (let minute = 0; minute < 60; minute += 1) {
      lab.fail();
      lab.clock.pass(60_000);
    }
    lab.observer.journal({ step: "write", ok: false, durationMs: 1 });

    expect(await lab.live()).toMatchObject({ status: 200 });
    expect(await lab.ready()).toMatchObject({
      status: 503,
      failing: ["tink_server", "runtime", "state_directory"],
    });
  });

  test("no longer when a lane makes no step for much longer than it may wait", async () => {
    const lab = await healthLab();
    for (const agentId of ["a", "b", "c"]) lab.idle(agentId);

    lab.clock.pass(LONGEST_WAIT_MS + 121_000);
    lab.idle("c");

    expect(await lab.live()).toEqual({
      status: 503,
      ok: false,
      failing: ["lanes"],
      reasons: { lanes: "lane a has been polling without a step for 3m 41s, and 1 more" },
    });
  });

  test("when the lane that stood still has ended", async () => {
    const lab = await healthLab();
    lab.idle();
    lab.clock.pass(LONGEST_WAIT_MS * 10);

    lab.observer.lane("a", undefined);

    expect(await lab.live()).toMatchObject({ status: 200 });
  });

  test("for as long as its own settings let a lane wait", () => {
    const server = {
      server: "h:1",
      tls: false,
      insecureTls: false,
      api: "auto",
      pollTimeoutMs: 600_000,
    } as const;

    expect(longestWaitMs({ server, backoffMaxIntervalMs: 3_600_000 })).toBeGreaterThan(600_000 + 3_600_000);
  });
});

describe("the tink server", () => {
  test("is not there before a lane asks, nor before it answers", async () => {
    const lab = await healthLab();

    const unasked = await lab.ready();
    lab.observer.lane("a", "polling");
    lab.observer.polling("a");
    const asked = await lab.ready();
    lab.fail();
    const refused = await lab.ready();

    expect(unasked).toMatchObject({ status: 503, reasons: { tink_server: "no lane polls yet" } });
    expect(asked).toMatchObject({ status: 503, reasons: { tink_server: "never answered" } });
    expect(refused).toMatchObject({
      status: 503,
      reasons: { tink_server: "polls have failed for 0.0 s (Unavailable), never answered" },
    });
  });

  test("is there when it answers, and when it holds a poll on an open connection", async () => {
    let open = false;
    const lab = await healthLab({ connected: () => open });
    lab.observer.lane("a", "polling");
    lab.observer.polling("a");
    lab.clock.pass(5_000);

    const connecting = await lab.ready();
    open = true;
    const held = await lab.ready();
    lab.idle();
    const answered = await lab.ready();

    expect(connecting).toMatchObject({ status: 503 });
    expect(held).toMatchObject({ status: 200, reasons: { tink_server: "holds a poll, never answered" } });
    expect(answered).toMatchObject({ status: 200, reasons: { tink_server: "last answered 0.0 s ago" } });
  });

  test("may be away for moments, and then is not there until it answers again", async () => {
    const lab = await healthLab({ connected: () => false });
    lab.idle();
    lab.fail();

    lab.clock.pass(10_000);
    lab.fail();
    const moment = await lab.ready();
    lab.clock.pass(10_000);
    lab.fail();
    const away = await lab.ready();
    lab.idle();
    const back = await lab.ready();

    expect(moment).toMatchObject({ status: 200 });
    expect(away).toMatchObject({
      status: 503,
      failing: ["tink_server"],
      reasons: { tink_server: "polls have failed for 20.0 s (Unavailable), last answered 20.0 s ago" },
    });
    expect(back).toMatchObject({ status: 200 });
  });

  test("is there again when it holds the poll of a lane that failed before", async () => {
    const lab = await healthLab();
    lab.idle();
    lab.fail();
    lab.clock.pass(20_000);
    const away = await lab.ready();

    lab.observer.polling("a");
    lab.clock.pass(2_000);

    expect(away).toMatchObject({ status: 503 });
    expect(await lab.ready()).toMatchObject({ status: 200 });
  });

  test("is healthy when the server permanently rejects the polls of one lane only", async () => {
    const lab = await healthLab();
    lab.observer.lane("held", "polling");
    lab.observer.polling("held");
    lab.observer.lane("refused", "polling");
    for (let second = 0; second < 50; second += 1) {
      lab.fail("refused", "PermissionDenied");
      lab.clock.pass(1_000);
    }

    expect(await lab.ready()).toMatchObject({ status: 200 });
  });

  test("is not what a stopping worker asks any more", async () => {
    const lab = await healthLab();
    lab.idle();

    lab.observer.lane("a", undefined);

    expect(await lab.ready()).toMatchObject({
      status: 503,
      reasons: { tink_server: "no lane polls any more" },
    });
  });
});

describe("the runtime", () => {
  test("is asked once for many who ask, and again after a while", async () => {
    let asked = 0;
    const lab = await healthLab({
      async checkRuntime() {
        asked += 1;
        if (asked > 1) throw new Error("cannot reach the engine:\nno such socket");
        return "engine 27.1";
      },
    });
    lab.idle();

    const first = await Promise.all([lab.ready(), lab.ready(), lab.ready()]);
    const askedFirst = asked;
    lab.clock.pass(11_000);
    lab.idle();
    const second = await lab.ready();

    expect(first.map(({ reasons }) => reasons["runtime"])).toEqual(Array(3).fill("engine 27.1"));
    expect(askedFirst).toBe(1);
    expect(second).toMatchObject({
      status: 503,
      failing: ["runtime"],
      reasons: { runtime: "cannot reach the engine: no such socket" },
    });
    expect(asked).toBe(2);
  });

  test("that says nothing is not waited for any longer than probes wait", { timeout: 20_000 }, async () => {
    let told: AbortSignal | undefined;
    const lab = await healthLab({
      checkRuntime(signal) {
        told = signal;
        return new Promise(() => undefined);
      },
    });
    lab.idle();

    expect(await lab.ready()).toMatchObject({
      status: 503,
      reasons: { runtime: "no answer within 5000 ms" },
    });
    expect(told?.aborted).toBe(true);
  });
});

describe("the state directory", () => {
  test("cannot be written until what failed is done", async () => {
    const lab = await healthLab();
    lab.idle();
    lab.observer.journal({ step: "write", ok: false, durationMs: 1 });
    lab.observer.journal({ step: "remove", ok: true, durationMs: 1 });
    lab.clock.pass(3_000);
    lab.idle();

    const full = await lab.ready();
    lab.observer.journal({ step: "write", ok: true, durationMs: 1 });
    const free = await lab.ready();

    expect(full).toMatchObject({
      status: 503,
      failing: ["state_directory"],
      reasons: {
        state_directory: "the journal could not write an entry 3.0 s ago: the log says why",
      },
    });
    expect(free).toMatchObject({ status: 200 });
  });
});

test.each([
  ["/healthcheck", "lanes"],
  ["/_/live", "lanes"],
  ["/_/ready", "tink_server"],
])("PBnJ's %s says the same", async (path, check) => {
  const lab = await healthLab();
  lab.idle();

  const answer = await lab.ask(path);

  expect(answer.status).toBe(200);
  expect(Object.keys(answer.reasons)).toContain(check);
});

describe("a worker that uses a cluster", () => {
  const well = { problems: [], sources: [], unusableMachines: 0 };

  test("is ready without an agent ID, which the cluster may have for it later", async () => {
    const lab = await healthLab({ agentIds: () => [], cluster: () => well });

    expect(await lab.ready()).toMatchObject({
      failing: [],
      reasons: { tink_server: "no agent ID to poll with now", cluster: "sees what it watches" },
    });
  });

  test("is not ready while it does not see what it watches", async () => {
    const problems = ["machines.bmc.tinkerbell.org: forbidden", "hardware.tinkerbell.org: forbidden"];
    const lab = await healthLab({ cluster: () => ({ ...well, problems }) });
    lab.idle();

    expect(await lab.ready()).toMatchObject({
      status: 503,
      failing: ["cluster"],
      reasons: { cluster: "machines.bmc.tinkerbell.org: forbidden, and 1 more" },
    });
    expect((await lab.live()).failing).toEqual([]);
  });

  test("is ready in an outage of another cluster that machines are read from", async () => {
    const sources = [{ name: "edge", machines: 2, problems: ["does not answer"] }];
    const lab = await healthLab({ cluster: () => ({ ...well, sources }) });
    lab.idle();

    expect(await lab.ready()).toMatchObject({
      failing: [],
      reasons: { cluster: "sees what it watches, except machine sources edge" },
    });
  });

  test("is ready as a follower that could lead, which has no lanes", async () => {
    let problem: string | undefined;
    const leader = () => ({ lease: "pbnj-worker", isLeading: false, leader: "pod-1_ab", problem });
    const lab = await healthLab({ agentIds: () => [], cluster: () => ({ ...well, leader: leader() }) });

    expect(await lab.ready()).toMatchObject({
      failing: [],
      reasons: { leader_election: "pod-1_ab leads" },
    });
    problem = "the API does not answer";
    expect(await lab.ready()).toMatchObject({
      failing: ["leader_election"],
      reasons: { leader_election: "the API does not answer" },
    });
  });
});

test("a worker without tink server is ready without one", async () => {
  const lab = await healthLab({}, { hasServer: false });

  expect(await lab.ready()).toMatchObject({
    status: 200,
    reasons: { tink_server: "no tink server is configured" },
  });
});
