import { describe, expect, test, vi } from "vitest";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { crashLab, expectDoneOnce, steps } from "./crash-lab.ts";

// test/worker/core/run/crash-points.test.ts kills workers at every step there is; here one real worker per runtime dies.
const RUN_MS = 90_000;

describe.concurrent("a worker that is killed", () => {
  test("at one journal step or another of each action does each action once", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab();
    const points = [
      "power-off before launched",
      "set-pxe-once after launched",
      "power-on after ended",
      "power-cycle before acknowledged",
    ];
    const workflow = lab.submit(steps);

    const worker = await lab.keepRunning(workflow, points.length, () => lab.startToDie(...points));

    expectDoneOnce(lab, workflow);
    await lab.expectNothingLeft(worker);
  });

  test("together with the action that runs inside it does not repeat what is not idempotent", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { powerOffMs: "held" }, argv: ["--runtime", "in-process"] });
    const first = lab.startProcess();
    const commanded = new Promise<void>((resolve) => lab.machine.once("command", () => resolve()));
    const workflow = lab.submit([{ name: "power-cycle" }]);
    await commanded;
    first.kill("SIGKILL");
    await first.ended;

    const second = lab.start();
    await lab.server.until(() => isOver(workflow));

    expect(workflow.state).toBe("FAILED");
    expect(workflow.tasks[0]?.actions[0]?.message).toBe(
      "power-cycle failed (internal): the worker that ran it inside itself was restarted; " +
        "it may have been carried out and is not idempotent, so it is not run again",
    );
    expect(lab.machine.count("cycle")).toBe(1);
    await lab.expectNothingLeft(second);
  });

  test("between two attempts of an action lets the action continue, and starts no attempt itself", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { power: "off" } });
    const { port } = lab.bmc;
    await lab.bmc.stop();
    const first = lab.startProcess();
    const workflow = lab.submit([{ name: "power-on", environment: { RETRIES: "2" } }]);
    await first.untilLogged("attempt failed, retrying");
    first.kill("SIGKILL");
    await first.ended;
    const running = await lab.processes();

    await lab.bmc.listen(port, "127.0.0.1");
    const second = lab.start();
    await lab.server.until(() => isOver(workflow));

    expect(running).toHaveLength(1);
    expect(workflow.tasks[0]?.actions[0]).toMatchObject({
      state: "SUCCESS",
      message: expect.stringMatching(
        /on after .* via redfish; succeeded at attempt 2 of 3 \(1: redfish: cannot connect to .*: connection refused\)/,
      ),
    });
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["on"]);
    await lab.expectNothingLeft(second);
  });

  test("starts again after the action's timeout and stops what still runs", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { softOffMs: "never" } });
    const first = lab.startProcess();
    const commanded = new Promise<void>((resolve) => lab.machine.once("command", () => resolve()));
    const workflow = lab.submit([{ name: "power-off", environment: { MODE: "soft" }, timeout: 5 }]);
    await commanded;
    first.kill("SIGKILL");
    await first.ended;
    const startedAt = workflow.tasks[0]?.actions[0]?.startedAt?.getTime() ?? 0;
    await vi.waitFor(() => expect(Date.now() - startedAt).toBeGreaterThan(5_000), { timeout: 10_000 });
    const running = await lab.processes();

    const second = lab.start();
    await lab.server.until(() => isOver(workflow));

    expect(running).toHaveLength(1);
    expect(workflow.state).toBe("TIMEOUT");
    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/timed out after 5\.0 s/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["soft-off"]);
    await lab.expectNothingLeft(second);
  });
});
