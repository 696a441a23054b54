import { describe, test } from "vitest";
import { openLegacyLab, templateOf } from "../support/lab.ts";

const UNREADABLE = templateOf("pbnj", { name: "power-reset", environment: { MACHINE: "node-01" } });
const READABLE = templateOf("pbnj", { name: "power-status", environment: { MACHINE: "node-01" } });

describe.concurrent("an action whose timeout is negative", () => {
  test("fails its workflow with the reason, and the next workflow of the agent ID runs", async ({
    expect,
  }) => {
    await using lab = await openLegacyLab({ machines: { "node-01": { power: "on" } } });
    const readable = lab.server.submit({ name: "wrong", template: UNREADABLE });
    const tasks = readable.tasks.map((task) => ({
      ...task,
      actions: task.actions.map((action) => ({ ...action, timeoutMs: -1_000 })),
    }));
    const workflow = { ...readable, tasks };
    lab.server.board.add(workflow);
    const next = lab.server.submit({ name: "right", template: READABLE });
    const worker = await lab.start();

    await lab.server.until(() => workflow.state === "FAILED" && next.state === "SUCCESS");

    expect(lab.server.reports.map(({ actionName, state }) => `${actionName} ${state}`)).toEqual(
      expect.arrayContaining(["power-reset RUNNING", "power-reset FAILED", "power-status SUCCESS"]),
    );
    expect(worker.log.find(({ msg }) => msg === "action refused")?.["reason"]).toBe(
      "the action's timeout is negative: -1 s",
    );
    expect(lab.machine().count("reset")).toBe(0);
  });
});
