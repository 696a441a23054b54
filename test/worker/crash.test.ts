import { describe, expect, test, vi } from "vitest";
import { isOver } from "../simulators/tink/workflow.ts";
import { type CrashLab, crashLab, eventuallyEmpty, expectDoneOnce, steps } from "./crash-lab.ts";

const RUN_MS = 240_000;
const names = steps.map(({ name }) => name);

/** Kills the worker once for each action, when the server has taken its report of this kind and not answered it. */
function killWhenTaken(
  lab: CrashLab,
  isKind: (state: string) => boolean,
): () => ReturnType<CrashLab["start"]> {
  let worker: ReturnType<CrashLab["start"]> | undefined;
  for (const name of names) {
    void lab.server.faults
      .holdAcknowledgement(({ actionName, state }) => actionName === name && isKind(state))
      .then(() => worker?.kill("SIGKILL"));
  }
  return () => {
    worker = lab.start();
    return worker;
  };
}

describe.concurrent("a worker with the process runtime that is killed", () => {
  const journalSteps = ["launching", "launched", "ended", "acknowledged", "removal"];
  const points = journalSteps.flatMap((step) => [`before ${step}`, `after ${step}`]);

  test.each(points)("%s, at every action, does each action once", { timeout: RUN_MS }, async (point) => {
    await using lab = await crashLab();
    const workflow = lab.submit(steps);

    const worker = await lab.keepRunning(workflow, steps.length, () => lab.startToDie(point));

    expectDoneOnce(lab, workflow);
    await lab.expectNothingLeft(worker);
  });

  test.each([
    ["RUNNING", (state: string) => state === "RUNNING"],
    ["the end", (state: string) => state !== "RUNNING"],
  ] as const)(
    "when the server took %s of an action and has not answered does each action once",
    {
      timeout: RUN_MS,
    },
    async (_, isKind) => {
      await using lab = await crashLab();
      const start = killWhenTaken(lab, isKind);
      const workflow = lab.submit(steps);

      const worker = await lab.keepRunning(workflow, steps.length, start);

      expectDoneOnce(lab, workflow);
      await lab.expectNothingLeft(worker);
    },
  );

  test("while the machine obeys adopts the process and reports its own words", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { powerOnMs: 1_500, powerOffMs: 1_500, cycleOffMs: 500 } });
    let worker = lab.start();
    lab.machine.on("command", () => worker.kill("SIGKILL"));
    const workflow = lab.submit(steps);

    const last = await lab.keepRunning(workflow, 3, () => {
      worker = worker.child.signalCode === null ? worker : lab.start();
      return worker;
    });

    expectDoneOnce(lab, workflow);
    const messages = workflow.tasks[0]?.actions.map(({ message }) => message);
    expect(messages?.[0]).toMatch(/^off after \d+\.\d s \(forced\) via redfish$/);
    expect(messages?.[2]).toMatch(/^on after \d+\.\d s via redfish$/);
    await lab.expectNothingLeft(last);
  });

  test("together with the process of what is not idempotent fails it, saying why, and does not send it again", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { powerOnMs: 1_000, powerOffMs: 1_000 } });
    const first = lab.start();
    const killed = killAtCommand(lab, first);
    const workflow = lab.submit([{ name: "power-cycle" }]);
    await killed;

    const second = lab.start();
    await lab.server.until(() => isOver(workflow));

    expect(workflow.state).toBe("FAILED");
    expect(workflow.tasks[0]?.actions[0]?.message).toBe(
      "power-cycle failed (internal): the worker was restarted, and the action's process is gone without a result; " +
        "it may have been carried out and is not idempotent, so it is not run again",
    );
    expect(lab.machine.count("cycle")).toBe(1);
    await lab.expectNothingLeft(second);
  });

  test("together with the process of what is idempotent runs it again, which sends nothing twice", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { powerOffMs: 300 } });
    const first = lab.start();
    const killed = killAtCommand(lab, first);
    const workflow = lab.submit([{ name: "power-off", environment: { MODE: "hard" } }]);
    await killed;
    await vi.waitFor(() => expect(lab.machine.power).toBe("off"));

    const second = lab.start();
    await lab.server.until(() => isOver(workflow));

    expect(workflow.state).toBe("SUCCESS");
    expect(workflow.tasks[0]?.actions[0]?.message).toBe("already off via redfish");
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
    await lab.expectNothingLeft(second);
  });

  test("comes back after the action's time and stops what still runs", { timeout: RUN_MS }, async () => {
    await using lab = await crashLab({ machine: { softOffMs: "never" } });
    const first = lab.start();
    const commanded = new Promise<void>((resolve) => lab.machine.once("command", () => resolve()));
    const workflow = lab.submit([{ name: "power-off", environment: { MODE: "soft" }, timeout: 3 }]);
    await commanded;
    first.kill("SIGKILL");
    await first.ended;
    const startedAt = workflow.tasks[0]?.actions[0]?.startedAt?.getTime() ?? 0;
    await vi.waitFor(() => expect(Date.now() - startedAt).toBeGreaterThan(3_000), { timeout: 10_000 });
    const running = await lab.processes();

    const second = lab.start();
    await lab.server.until(() => isOver(workflow));

    expect(running).toHaveLength(1);
    expect(workflow.state).toBe("TIMEOUT");
    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/timed out, stopped after its 3\.0 s/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["soft-off"]);
    await lab.expectNothingLeft(second);
  });
});

/** Resolves when the worker and all that it launched are dead, killed at the machine's first command. */
async function killAtCommand(lab: CrashLab, worker: ReturnType<CrashLab["start"]>): Promise<void> {
  await new Promise<void>((resolve) => lab.machine.once("command", () => resolve()));
  worker.kill("SIGKILL");
  await worker.ended;
  for (const pid of await lab.processes()) process.kill(-pid, "SIGKILL");
  await eventuallyEmpty(lab.processes);
}
