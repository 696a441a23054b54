import { describe, expect, test } from "vitest";
import type { SimulatedMachineOptions } from "../../simulators/machine.ts";
import { messageOf, openLegacyLab, type Step, templateOf } from "../support/lab.ts";

/** Timeout of the action and of its hook: long enough for the hook to begin on a busy machine. */
const LIMIT_S = 5;

/** One action of a workflow on one machine, from its start to its reported end. */
async function ran(step: Step, machine: SimulatedMachineOptions = {}) {
  const lab = await openLegacyLab({ machines: { "node-01": machine, "node-02": {} } });
  const worker = await lab.start();
  const workflow = lab.server.submit({
    name: "w",
    template: templateOf("pbnj", { environment: { MACHINE: "node-01" }, ...step }),
  });
  await lab.server.until(() => ["FAILED", "TIMEOUT", "SUCCESS"].includes(workflow.state));
  return {
    workflow,
    message: messageOf(workflow),
    hooks: worker.log.filter(({ msg }) => msg === "hook started").map(({ hook }) => hook),
    done: lab.machines.map((each) => each.commands.map(({ action }) => action)),
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
}

describe.concurrent("an action that fails", () => {
  test("runs its on-failure with the same machine, before the failure is reported", async () => {
    await using run = await ran(
      { name: "power-reset", onFailure: ["--on-if-off"], onTimeout: ["--help"] },
      { power: "off" },
    );

    expect(run.workflow.state).toBe("FAILED");
    expect(run.message).toMatch(/^power-reset .*failed \(state, exit 17\): .*; on-failure succeeded: .*on/);
    expect(run.done[0]).toEqual(["on"]);
  });

  test("keeps its own failure when its on-failure fails as well", async () => {
    await using run = await ran({ name: "power-reset", onFailure: [], command: [] }, { power: "off" });
    await using both = await ran(
      { name: "power-reset", onFailure: ["--state-timeout", "never"] },
      { power: "off" },
    );

    expect(run.message).not.toContain("on-failure");
    expect(both.workflow.state).toBe("FAILED");
    expect(both.message).toMatch(/failed \(state, exit 17\): .*; on-failure failed: /);
  });

  test("by a time-out runs its on-timeout, and is reported as timed out", async () => {
    await using run = await ran(
      { name: "wait-for-power-state", command: ["--state=off"], timeout: LIMIT_S, onTimeout: ["--state=on"] },
      { power: "on" },
    );

    expect(run.workflow.state).toBe("TIMEOUT");
    expect(run.message).toMatch(/timed out.*; on-timeout succeeded: already on via redfish$/);
  });

  test("by a time-out without an on-timeout runs its on-failure", async () => {
    await using run = await ran(
      { name: "wait-for-power-state", command: ["--state=off"], timeout: LIMIT_S, onFailure: ["--state=on"] },
      { power: "on" },
    );

    expect(run.workflow.state).toBe("TIMEOUT");
    expect(run.message).toMatch(/timed out.*; on-failure succeeded: already on via redfish$/);
  });
});

describe("no hook is run", () => {
  test("after a refused action", async () => {
    await using run = await ran({
      name: "power-reset",
      environment: { MACHINE: "node-99" },
      onFailure: ["--on-if-off"],
    });

    expect(run.message).toMatch(/which the inventory does not have/);
    expect(run.hooks).toEqual([]);
  });

  test.each([
    ["node-02", /on-failure: is for another machine than the action/],
    ["node-99", /on-failure: .*which the inventory does not have/],
  ])("that is for %s: the action is refused before anything is done", async (machine, reason) => {
    await using run = await ran({
      name: "power-off",
      environment: {},
      command: ["--machine=node-01"],
      onFailure: [`--machine=${machine}`],
    });

    expect(run.workflow.state).toBe("FAILED");
    expect(run.message).toMatch(reason);
    expect(run.done).toEqual([[], []]);
  });

  test("with a password that was refused", async () => {
    await using lab = await openLegacyLab({ machines: { "node-01": { power: "off" } } });
    await lab.write("password", "wrong\n");
    const worker = await lab.start();
    const workflow = lab.server.submit({
      name: "w",
      template: templateOf("pbnj", {
        name: "power-reset",
        environment: { MACHINE: "node-01" },
        onFailure: ["--on-if-off"],
      }),
    });
    await lab.server.until(() => workflow.state === "FAILED");

    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/\(auth, exit 10\)/);
    expect(worker.log.map(({ msg }) => msg)).not.toContain("hook started");
  });
});
