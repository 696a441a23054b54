import { describe, expect, test, vi } from "vitest";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { type CrashLab, crashLab, eventuallyEmpty, expectDoneOnce, type Step, steps } from "./crash-lab.ts";

// test/worker/core/execution/crash-points.test.ts kills workers at every step there is; here real ones die at a few.
const RUN_MS = 90_000;
const hardOff: Step = { name: "power-off", environment: { MODE: "hard" } };

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

  test("while the machine obeys adopts the process and reports its result", { timeout: RUN_MS }, async () => {
    await using lab = await crashLab({ machine: { powerOffMs: 1_500 } });
    let worker = lab.startProcess();
    lab.machine.on("command", () => worker.kill("SIGKILL"));
    const workflow = lab.submit([hardOff]);

    const last = await lab.keepRunning(workflow, 1, () => {
      worker = worker.child.signalCode === null ? worker : lab.startProcess();
      return worker;
    });

    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/^off after \d+\.\d s \(forced\) via redfish$/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
    await lab.expectNothingLeft(last);
  });

  test.each([
    {
      runtime: "process",
      reason: "the worker was restarted, and the action's process is gone without a result",
    },
    { runtime: "in-process", reason: "the worker that ran it inside itself was restarted" },
  ])(
    "together with the action that it runs with the $runtime runtime does not repeat what is not idempotent",
    { timeout: RUN_MS },
    async ({ runtime, reason }) => {
      await using lab = await crashLab({
        machine: { powerOffMs: "held" },
        argv: ["--runtime", runtime],
      });
      const first = lab.startProcess();
      const killed = killAtCommand(lab, first);
      const workflow = lab.submit([{ name: "power-cycle" }]);
      await killed;

      const second = lab.start();
      await lab.server.until(() => isOver(workflow));

      expect(workflow.state).toBe("FAILED");
      expect(workflow.tasks[0]?.actions[0]?.message).toBe(
        `power-cycle failed (internal): ${reason}; ` +
          "it may have been carried out and is not idempotent, so it is not run again",
      );
      expect(lab.machine.count("cycle")).toBe(1);
      await lab.expectNothingLeft(second);
    },
  );

  test("together with the action that it runs repeats what is idempotent", { timeout: RUN_MS }, async () => {
    // The action must not end before it is killed.
    await using lab = await crashLab({ machine: { powerOffMs: "held" } });
    const first = lab.startProcess();
    const killed = killAtCommand(lab, first);
    const workflow = lab.submit([hardOff]);
    await killed;
    lab.machine.finishPowerOff();

    const second = lab.start();
    await lab.server.until(() => isOver(workflow));

    expect(workflow.state).toBe("SUCCESS");
    expect(workflow.tasks[0]?.actions[0]?.message).toBe("already off via redfish");
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
    await lab.expectNothingLeft(second);
  });

  test.each([
    {
      what: "adopts a correction",
      isKilled: false,
      ending: /^firmware updated: BMC \S+ to 9\.9\.0 via redfish$/,
    },
    {
      what: "does not repeat a correction that was killed, too,",
      isKilled: true,
      ending: /so it is not run again$/,
    },
  ])(
    "in the middle of one $what and tells the machine once",
    { timeout: 3 * RUN_MS },
    async ({ isKilled, ending }) => {
      const image = "http://192.0.2.9/bmc-9.9.0.bin";
      await using lab = await crashLab({
        desired: { enforce: true, firmware: { BMC: { version: "9.9.0", image } } },
        // The shortest there are: the correction starts after a minute.
        argv: ["--drift-interval", "1m", "--drift-quiet-time", "1m"],
      });
      const { update } = lab.bmc;
      // One that is killed must not end before.
      update.taskMs = isKilled ? 60_000 : 5_000;
      const first = lab.startProcess();
      await vi.waitFor(() => expect(update.accepted, first.stderr).toBe(1), {
        timeout: 2 * RUN_MS,
        interval: 50,
      });
      first.kill("SIGKILL");
      await first.ended;
      if (isKilled) await killProcesses(lab);

      const second = lab.start();

      await vi.waitFor(
        async () => {
          const end = { state: isKilled ? "failed" : "success", message: expect.stringMatching(ending) };
          const action = expect.objectContaining({ name: "update-firmware", agentId: "drift" });
          expect(await lab.journal()).toEqual([
            expect.objectContaining({ action, phase: "acknowledged", end: expect.objectContaining(end) }),
          ]);
        },
        { timeout: RUN_MS, interval: 100 },
      );
      await lab.expectNothingLeft(second);
      expect(update.accepted).toBe(1);
    },
  );

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
    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/timed out, stopped after its 5\.0 s/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["soft-off"]);
    await lab.expectNothingLeft(second);
  });
});

/** Resolves when the worker and all that it launched are dead, killed at the machine's first command. */
async function killAtCommand(lab: CrashLab, worker: ReturnType<CrashLab["startProcess"]>): Promise<void> {
  await new Promise<void>((resolve) => lab.machine.once("command", () => resolve()));
  worker.kill("SIGKILL");
  await worker.ended;
  await killProcesses(lab);
}

async function killProcesses(lab: CrashLab): Promise<void> {
  for (const pid of await lab.processes()) process.kill(-pid, "SIGKILL");
  await eventuallyEmpty(lab.processes);
}
