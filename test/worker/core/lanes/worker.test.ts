import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { Worker } from "../../../../worker/core/lanes/worker.ts";
import { Executor } from "../../../../worker/core/run/executor.ts";
import { workingLab } from "../../../support/lab.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";
import { briefRuntime, labNeeds, labSource } from "../run/executor-lab.ts";

const HOUR_MS = 60 * 60_000;
const IDLE = { kind: "idle", reason: "nothing to do" } as const;
const status = { name: "power-status" };
const RELOADED = "inventory reloaded";

/** Lets the worker poll and work until a lane that should be gone would have polled. */
async function workElsewhere(lab: Awaited<ReturnType<typeof workingLab>>, agentId: string) {
  for (let round = 0; round < 3; round += 1) {
    const workflow = lab.submit(agentId, status);
    // A worker that stops before it has the answer would look for the deleted workflow for seconds.
    await lab.worker.untilLogged("report acknowledged", { task: workflow.tasks[0]?.id, state: "success" });
    lab.server.board.delete(workflow);
  }
}

describe.concurrent("lanes follow the inventory", () => {
  test("an added machine gets a lane without a restart", async () => {
    await using lab = await workingLab({ machines: { one: {}, two: { power: "off" } }, known: ["one"] });
    const workflow = lab.submit("pbnj-two", { name: "power-on" });
    await lab.server.until(() => lab.server.polls.includes("pbnj-one"));

    await lab.writeInventory("one", "two");
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(lab.machine("two").count("on")).toBe(1);
    expect(await lab.worker.untilLogged(RELOADED)).toMatchObject({
      machines: 2,
      lanesAdded: ["pbnj-two"],
      lanesRemoved: [],
    });
  });

  test("a removed machine completes and reports its action, and loses its lane", async () => {
    await using lab = await workingLab({ machines: { one: { power: "off", powerOnMs: "held" }, two: {} } });
    const poweringOn = once(lab.machine("one"), "command");
    const workflow = lab.submit("pbnj-one", { name: "power-on" }, status);
    await poweringOn;

    await lab.writeInventory("two");
    const reloaded = await lab.worker.untilLogged(RELOADED);
    expect(workflow.tasks[0]?.actions[0]?.state).toBe("RUNNING");
    lab.machine("one").finishPowerOn();
    await lab.server.until(() => workflow.tasks[0]?.actions[0]?.state === "SUCCESS");
    const polls = lab.server.polls.length;
    await workElsewhere(lab, "pbnj-two");

    expect(reloaded).toMatchObject({ machines: 1, lanesAdded: [], lanesRemoved: ["pbnj-one"] });
    expect(workflow.tasks[0]?.actions.map(({ state }) => state)).toEqual(["SUCCESS", "PENDING"]);
    expect(lab.server.polls.slice(polls)).not.toContain("pbnj-one");
  });

  test("an idle machine that is removed loses its lane at once", async () => {
    await using lab = await workingLab({ machines: { one: {}, two: {} } });
    await lab.server.until(() => lab.server.polls.includes("pbnj-one"));

    await lab.writeInventory("two");
    await lab.worker.untilLogged(RELOADED);
    const workflow = lab.submit("pbnj-one", { name: "power-off" });
    await workElsewhere(lab, "pbnj-two");

    expect(workflow.state).toBe("PENDING");
    expect(lab.machine("one").commands).toEqual([]);
  });

  test("a renamed machine is polled for by its new name only", async () => {
    await using lab = await workingLab({ machines: { one: {} } });
    await lab.server.until(() => lab.server.polls.includes("pbnj-one"));

    await lab.writeInventory("first=one");
    const reloaded = await lab.worker.untilLogged(RELOADED);
    const old = lab.submit("pbnj-one", { name: "power-off" });
    const workflow = lab.submit("pbnj-first", status);
    await lab.server.until(() => workflow.state === "SUCCESS");
    await workElsewhere(lab, "pbnj-first");

    expect(reloaded).toMatchObject({ lanesAdded: ["pbnj-first"], lanesRemoved: ["pbnj-one"] });
    expect(old.state).toBe("PENDING");
    expect(lab.machine("one").commands).toEqual([]);
  });

  test("a machine renamed during its action waits for its turn under its new name", async () => {
    await using lab = await workingLab({ machines: { one: { power: "off", powerOnMs: 1_500 } } });
    const poweringOn = once(lab.machine("one"), "command");
    const first = lab.submit("pbnj-one", { name: "power-on" });
    await poweringOn;

    await lab.writeInventory("first=one");
    await lab.worker.untilLogged(RELOADED);
    const second = lab.submit("pbnj-first", { name: "power-off", environment: { MODE: "hard" } });
    await lab.server.until(() => second.state === "SUCCESS");

    const [on, off] = [first, second].map(({ tasks }) => tasks[0]?.actions[0]);
    expect(on?.state).toBe("SUCCESS");
    expect(off?.startedAt?.getTime()).toBeGreaterThanOrEqual((on?.stoppedAt?.getTime() ?? 0) - 5);
    expect(lab.machine("one").commands.map(({ action }) => action)).toEqual(["on", "off"]);
  });

  test("a machine that is removed and added again during its action has one lane", async ({ expect }) => {
    await using lab = await workingLab({ machines: { one: { power: "off", powerOnMs: "held" }, two: {} } });
    const poweringOn = once(lab.machine("one"), "command");
    const workflow = lab.submit("pbnj-one", { name: "power-on" }, status);
    await poweringOn;

    await lab.writeInventory("two");
    await expect.poll(() => lab.said(RELOADED).length).toBe(1);
    await lab.writeInventory("one", "two");
    await expect.poll(() => lab.said(RELOADED).length).toBe(2);
    expect(workflow.tasks[0]?.actions[0]?.state).toBe("RUNNING");
    lab.machine("one").finishPowerOn();
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(lab.machine("one").count("on")).toBe(1);
    expect(lab.said("action started")).toHaveLength(2);
  });

  test("a configured agent ID stays when machines are removed", async () => {
    await using lab = await workingLab({ machines: { one: {}, two: {} }, argv: ["--agent-id", "pbnj"] });
    await lab.server.until(() => lab.server.polls.includes("pbnj"));

    await lab.writeInventory("two");
    await lab.worker.untilLogged(RELOADED);
    const workflow = lab.submit("pbnj", { name: "power-status", environment: { MACHINE: "two" } });
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(workflow.tasks[0]?.actions[0]?.message).toBe("on via redfish");
  });
});

describe.concurrent("a broken file", () => {
  test("keeps the last valid inventory, and logs each problem with its line", async () => {
    await using lab = await workingLab({ machines: { one: {} } });
    await lab.server.until(() => lab.server.polls.includes("pbnj-one"));

    await lab.write("inventory.yaml", "machines:\n- name: one\n- {name: Two, host: 192.0.2.1}\n");
    await lab.worker.untilLogged("inventory reload failed, keeping the last valid one");
    await workElsewhere(lab, "pbnj-one");

    const errors = lab.worker.log.filter(({ level }) => level === 50);
    expect(errors.map(({ source }) => source)).toEqual(
      expect.arrayContaining(["inventory.yaml:2", "inventory.yaml:3"]),
    );
    expect(errors.at(-1)).toMatchObject({ problems: errors.length - 1 });
    expect(lab.said(RELOADED)).toEqual([]);
  });

  test("keeps the last valid policy; a valid one applies to the next action", async () => {
    await using lab = await workingLab({ machines: { one: {} }, policy: 'images: ["**/power-status"]\n' });
    await workElsewhere(lab, "pbnj-one");

    await lab.writePolicy("images: 3\n");
    await lab.worker.untilLogged("policy reload failed, keeping the last valid one");
    await workElsewhere(lab, "pbnj-one");
    await lab.writePolicy('images: ["**/power-off"]\n');
    await lab.worker.untilLogged("policy reloaded");
    const refused = lab.submit("pbnj-one", status);
    await lab.server.until(() => refused.state === "FAILED");

    expect(refused.tasks[0]?.actions[0]?.message).toMatch(/power-status/);
  });
});

test("a worker that leads hands over within 2 s although the server takes no report", async () => {
  const clock = new VirtualClock();
  const { action } = scriptedRequest([]).request;
  const actions = [action];
  const told: string[] = [];
  const source = labSource({
    async next(_agentId, signal) {
      const next = actions.shift();
      return next ? { kind: "action", action: next } : clock.sleep(HOUR_MS, signal).then(() => IDLE);
    },
    async report({ state }) {
      told.push(state);
      if (state === "running") return { kind: "acknowledged" };
      return { kind: "retry", code: "Unavailable", reason: "no answer" };
    },
  });
  let releasedMs: number | undefined;
  const needs = labNeeds({ runtime: briefRuntime(), sourceOf: () => source, clock });
  const worker = new Worker({
    ...{ ...needs, executor: new Executor(needs), shutdownGraceMs: HOUR_MS, reload: async () => undefined },
    checkLaunch: (signal) => needs.runtime.check(signal),
    services: {
      agentIds: () => [action.agentId],
      sourceOf: () => source,
      ...{ ready: async () => undefined, run: async () => undefined, close: async () => undefined },
    },
    leadership: {
      ...{ isLeading: true, lost: new Promise(() => undefined), acquire: async () => undefined },
      release: async () => {
        releasedMs = clock.monotonicMs();
      },
    },
  });
  const ended = worker.run();
  await clock.until(() => told.includes("success"), HOUR_MS);
  const stoppedMs = clock.monotonicMs();

  worker.stop();
  await clock.until(() => releasedMs !== undefined, HOUR_MS);
  await ended;

  expect((releasedMs ?? HOUR_MS) - stoppedMs).toBeLessThan(2_000);
});

test("a worker does not poll while its runtime cannot launch anything, at its start or later", async () => {
  const clock = new VirtualClock();
  const { action } = scriptedRequest([]).request;
  const polls: number[] = [];
  let isUsable = false;
  let launches = 0;
  const runtime = {
    ...briefRuntime(),
    async check() {
      if (!isUsable) throw new Error("no container engine");
      return "an engine";
    },
    async run() {
      launches += 1;
      isUsable = false;
      const times = { startedAt: new Date(), stoppedAt: new Date(), timedOut: false, killed: false };
      const outcome = { ok: false, class: "internal", message: "no container engine", ...times } as const;
      return { outcome, remove: async () => undefined };
    },
  };
  const source = labSource({
    async next(_agentId, signal) {
      polls.push(clock.monotonicMs());
      if (launches === 0) return { kind: "action", action };
      return clock.sleep(HOUR_MS, signal).then(() => IDLE);
    },
    report: async () => ({ kind: "acknowledged" }),
  });
  const needs = labNeeds({ runtime, sourceOf: () => source, clock });
  const worker = new Worker({
    ...{ ...needs, executor: new Executor(needs), shutdownGraceMs: HOUR_MS, reload: async () => undefined },
    checkLaunch: (signal) => needs.runtime.check(signal),
    services: {
      agentIds: () => [action.agentId],
      sourceOf: () => source,
      ...{ ready: async () => undefined, run: async () => undefined, close: async () => undefined },
    },
  });
  const aMinute = () => {
    const endMs = clock.monotonicMs() + 60_000;
    return clock.until(() => clock.monotonicMs() >= endMs, HOUR_MS);
  };
  const ended = worker.run();
  await aMinute();
  expect(polls).toEqual([]);

  isUsable = true;
  await clock.until(() => launches === 1, HOUR_MS);
  const before = polls.length;
  await aMinute();
  expect(polls).toHaveLength(before);

  isUsable = true;
  await clock.until(() => polls.length > before, HOUR_MS);
  worker.stop();
  await ended;
});
