import { expect, test } from "vitest";
import { openLegacyLab, templateOf } from "../support/lab.ts";

const MACHINES = Array.from({ length: 20 }, (_, index) => `node-${String(index).padStart(2, "0")}`);
const WORKFLOWS_PER_MACHINE = 2;

test("forty workflows on one worker ID run concurrently, one action per machine at a time", async () => {
  const machines = Object.fromEntries(MACHINES.map((name) => [name, { power: "on" as const }]));
  await using lab = await openLegacyLab({ machines });
  const { server } = lab;
  const steps = (machine: string) =>
    templateOf(
      "pbnj",
      { name: "power-reset", environment: { MACHINE: machine } },
      { name: "power-status", environment: { MACHINE: machine } },
    );
  // Ended and abandoned workflows are still there.
  for (const state of ["FAILED", "TIMEOUT", "SUCCESS", "RUNNING"] as const) {
    for (let index = 0; index < 5; index += 1) {
      const old = server.submit({ name: `a-${state}-${index}`, template: steps("node-00") });
      for (const action of old.tasks.flatMap(({ actions }) => actions)) action.state = "FAILED";
      server.board.set(old, state);
    }
  }
  const workflows = MACHINES.flatMap((machine) =>
    Array.from({ length: WORKFLOWS_PER_MACHINE }, (_, index) => ({
      machine,
      workflow: server.submit({ name: `${index}-${machine}`, template: steps(machine) }),
    })),
  );
  const machineOf = new Map(workflows.map(({ machine, workflow }) => [workflow, machine]));
  const running = new Map<string, number>();
  const most = { atOneMachine: 0, machines: 0 };
  server.board.on("change", ({ workflow, action }) => {
    const machine = machineOf.get(workflow);
    if (!action || machine === undefined) return;
    running.set(machine, (running.get(machine) ?? 0) + (action.state === "RUNNING" ? 1 : -1));
    most.atOneMachine = Math.max(most.atOneMachine, running.get(machine) ?? 0);
    most.machines = Math.max(most.machines, [...running.values()].filter((count) => count > 0).length);
    // Once so many are at it beside each other, there is no need to be slow.
    if (most.machines > MACHINES.length / 2) setLatency(0);
  });
  const setLatency = (ms: number) => {
    for (const bmc of lab.bmcs) bmc.latencyMs = ms;
  };
  setLatency(1_000);

  const begunMs = Date.now();
  await lab.start();
  await server.until(() => workflows.every(({ workflow }) => workflow.state === "SUCCESS"), 100_000);
  const calls = server.calls.length;
  const idleCalls = ((Date.now() - begunMs) / 1_000) * 5;

  expect(most.atOneMachine).toBe(1);
  expect(most.machines).toBeGreaterThan(MACHINES.length / 2);
  expect(lab.machines.map((machine) => machine.count("reset"))).toEqual(
    MACHINES.map(() => WORKFLOWS_PER_MACHINE),
  );
  // Calls per action: its start, its end, its workflow's list, and twice the contexts, before it and after its end.
  expect(server.reports).toHaveLength(160);
  expect(calls).toBeLessThan(80 * 5 * 1.5 + idleCalls);
});
