import { describe, test } from "vitest";
import { legacyLab, standingWorker, templateOf } from "./legacy-lab.ts";

const UNREADABLE = templateOf([{ name: "power-reset", environment: { MACHINE: "node-01" } }]);
const READABLE = templateOf([{ name: "power-status", environment: { MACHINE: "node-01" } }]);

describe.concurrent("an action whose timeout is negative", () => {
  test("fails its workflow with the reason, and the next workflow of the agent ID runs", async ({
    expect,
  }) => {
    await using lab = await legacyLab({ machines: { "node-01": { power: "on" } } });
    const readable = lab.server.submit({ name: "wrong", template: UNREADABLE });
    const tasks = readable.tasks.map((task) => ({
      ...task,
      actions: task.actions.map((action) => ({ ...action, timeoutMs: -1_000 })),
    }));
    const workflow = { ...readable, tasks };
    lab.server.board.add(workflow);
    const next = lab.server.submit({ name: "right", template: READABLE });
    await using worker = await standingWorker(lab);

    await lab.server.until(() => workflow.state === "FAILED" && next.state === "SUCCESS");

    expect(lab.server.reports.map(({ actionName, state }) => `${actionName} ${state}`)).toEqual(
      expect.arrayContaining(["power-reset RUNNING", "power-reset FAILED", "power-status SUCCESS"]),
    );
    expect(worker.logged.find(({ msg }) => msg === "action refused")?.["reason"]).toBe(
      "the action's timeout is negative: -1 s",
    );
    expect(lab.machines[0]?.count("reset")).toBe(0);
  });
});
