import { once } from "node:events";
import { expect, test } from "vitest";
import type { SimulatedMachineOptions } from "../../../../simulators/machine.ts";
import { workingLab } from "../../../support/lab.ts";

const names = Array.from({ length: 12 }, (_, index) => `node-${index}`);
const machines: Record<string, SimulatedMachineOptions> = Object.fromEntries(
  names.map((name) => [name, { power: "on", powerOffMs: 150, powerOnMs: 150 }]),
);
const off = { name: "power-off", environment: { MODE: "hard" } };

interface Span {
  readonly from: number;
  readonly to: number;
}

/** The most that went on at a time. */
function mostAtOnce(spans: readonly Span[]): number {
  return Math.max(
    ...spans.map(({ from }) => spans.filter((other) => other.from <= from && from < other.to).length),
  );
}

test.concurrent("no more actions run at a time than may", async () => {
  await using lab = await workingLab({ machines, argv: ["--max-actions", "3"] });

  const workflows = names.map((name) => lab.submit(`pbnj-${name}`, off, { name: "power-on" }));
  await lab.server.until(() => workflows.every(({ state }) => state === "SUCCESS"), 60_000);

  const actions = workflows.flatMap(({ tasks }) => tasks.flatMap((task) => task.actions));
  const spans = actions.map(({ startedAt, stoppedAt }) => ({
    from: startedAt?.getTime() ?? 0,
    to: stoppedAt?.getTime() ?? 0,
  }));
  expect(spans).toHaveLength(24);
  expect(mostAtOnce(spans)).toBe(3);
  for (const name of names) {
    expect(lab.machine(name).commands.map(({ action }) => action)).toEqual(["off", "on"]);
  }
});

test.concurrent("actions start in the order of their arrival, over all lanes", async () => {
  await using lab = await workingLab({ machines, argv: ["--max-actions", "1"] });
  const first = lab.submit("pbnj-node-0", { name: "power-off", environment: { MODE: "hard" } });
  await lab.worker.untilLogged("action started");

  const others = ["node-7", "node-3", "node-9"];
  const workflows: ReturnType<typeof lab.submit>[] = [];
  for (const name of others) {
    workflows.push(lab.submit(`pbnj-${name}`, off));
    // The next one comes once this one has been handed out.
    await lab.server.until(() => workflows.at(-1)?.current !== undefined);
  }
  await lab.server.until(() => [first, ...workflows].every(({ state }) => state === "SUCCESS"), 60_000);

  const started = lab.said("action started").map(({ machine }) => machine);
  expect(started).toEqual(["node-0", ...others]);
});

test.concurrent("one machine has one action at a time, for any agent ID and workflow", async () => {
  await using lab = await workingLab({
    machines: { "node-0": { power: "on", powerOffMs: 200, powerOnMs: 200 }, "node-1": {} },
    // Another name for the same BMC.
    known: ["node-0", "alias=node-0", "node-1"],
    argv: ["--agent-id", "pbnj,other", "--max-actions", "10"],
  });
  const on = { MACHINE: "node-0" };

  const workflows = [
    lab.submit("pbnj-node-0", off, { name: "power-on" }),
    lab.submit("pbnj-alias", off, { name: "power-on" }),
    lab.submit("pbnj", { ...off, environment: { ...off.environment, ...on } }),
    lab.submit("other", { name: "power-on", environment: { MACHINE: "alias" } }),
  ];
  await lab.server.until(() => workflows.every(({ state }) => state === "SUCCESS"), 60_000);

  const actions = workflows.flatMap(({ tasks }) => tasks.flatMap((task) => task.actions));
  const spans = actions.map(({ startedAt, stoppedAt }) => ({
    from: startedAt?.getTime() ?? 0,
    to: stoppedAt?.getTime() ?? 0,
  }));
  expect(spans).toHaveLength(6);
  expect(mostAtOnce(spans)).toBe(1);
});

test.concurrent("one machine has one action at a time although its BMC gets another address meanwhile", async () => {
  await using lab = await workingLab({
    machines: { "node-0": { power: "on", softOffMs: 1_500 }, "node-1": {} },
    known: ["node-0"],
    argv: ["--agent-id", "pbnj", "--max-actions", "10"],
  });
  const poweringOff = once(lab.machine("node-0"), "command");
  const first = lab.submit("pbnj-node-0", { name: "power-off", environment: { MODE: "soft" } });
  await poweringOff;
  await lab.writeInventory("node-0=node-1");
  await lab.worker.untilLogged("inventory reloaded");

  const second = lab.submit("pbnj", { name: "power-status", environment: { MACHINE: "node-0" } });
  await lab.server.until(() => [first, second].every(({ state }) => state === "SUCCESS"), 30_000);

  const [ended, begun] = [first.tasks[0]?.actions[0]?.stoppedAt, second.tasks[0]?.actions[0]?.startedAt];
  expect(begun?.getTime()).toBeGreaterThanOrEqual(ended?.getTime() ?? Number.POSITIVE_INFINITY);
});
