import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { Workflow } from "../../simulators/tink/workflow.ts";
import { actionKey } from "../../worker/core/action/action.ts";
import { scaledClock } from "../support/scaled-clock.ts";
import { type LegacyLab, legacyLab, standingWorker, templateOf } from "./legacy-lab.ts";

/** Seconds of the worker pass in milliseconds of the test. */
const SPEED = 40;
const CONFLICT = new ConnectError("invalid workflow id", Code.InvalidArgument);

const REBOOT = templateOf([
  { name: "power-reset", environment: { MACHINE: "node-01" } },
  { name: "power-status", environment: { MACHINE: "node-01" } },
]);

const RESET = actionKey({ workflowId: "default/reboot", actionId: "0/task-1/power-reset" });

async function rack(): Promise<LegacyLab> {
  return legacyLab({ machines: { "node-01": { power: "on" } } });
}

/** Calls back once, when the server took that report about the workflow's first action. */
function onReport(lab: LegacyLab, workflow: Workflow, state: "RUNNING" | "SUCCESS", then: () => void): void {
  const listener = (change: { workflow: Workflow; action?: { state: string; name: string } }) => {
    if (
      change.workflow !== workflow ||
      change.action?.name !== "power-reset" ||
      change.action.state !== state
    )
      return;
    lab.server.board.off("change", listener);
    then();
  };
  lab.server.board.on("change", listener);
}

function reportsOf(lab: LegacyLab): readonly string[] {
  return lab.server.reports.map(({ actionName, state }) => `${actionName} ${state}`);
}

const ONCE = ["power-reset RUNNING", "power-reset SUCCESS", "power-status RUNNING", "power-status SUCCESS"];

describe.concurrent("an action that a server serves again after its end", () => {
  test("out of a stale cache is neither run nor reported again", async ({ expect }) => {
    await using lab = await rack();
    const workflow = lab.server.submit({ name: "reboot", template: REBOOT });
    onReport(lab, workflow, "SUCCESS", () => lab.server.board.lag());
    await using worker = await standingWorker(lab);

    await expect
      .poll(() => worker.logged.filter(({ msg }) => msg.startsWith("stale action skipped")).length, {
        timeout: 15_000,
      })
      .toBeGreaterThan(1);
    lab.server.board.thaw();
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(lab.machines[0]?.count("reset")).toBe(1);
    expect(reportsOf(lab)).toEqual(ONCE);
  });

  test("for longer than a cache can be stale gets its end reported again and is not run", async ({
    expect,
  }) => {
    await using lab = await rack();
    const workflow = lab.server.submit({ name: "reboot", template: REBOOT });
    onReport(lab, workflow, "SUCCESS", () => lab.server.board.lag());
    await using worker = await standingWorker(lab, { clock: scaledClock(SPEED) });

    await expect
      .poll(() => worker.logged.map(({ msg }) => msg), { timeout: 15_000 })
      .toContain("duplicate action skipped: already ended");
    lab.server.board.thaw();
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(lab.machines[0]?.count("reset")).toBe(1);
  });

  test("because its store accepted no report for minutes gets its end until it accepts it", async () => {
    await using lab = await rack();
    const workflow = lab.server.submit({ name: "reboot", template: REBOOT });
    onReport(lab, workflow, "RUNNING", () => lab.server.faults.fail("ReportActionStatus", CONFLICT, 11));
    await using worker = await standingWorker(lab, { clock: scaledClock(SPEED) });

    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(worker.logged.map(({ msg }) => msg)).toContain("report rejected");
    expect(lab.machines[0]?.count("reset")).toBe(1);
    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/reset/);
  });
});

describe.concurrent("a recreated workflow with the IDs of an ended one", () => {
  test("is run, and gets only its own end", async () => {
    await using lab = await rack();
    const first = lab.server.submit({ name: "reboot", template: REBOOT });
    await using _worker = await standingWorker(lab, { clock: scaledClock(SPEED) });
    await lab.server.until(() => first.state === "SUCCESS");

    lab.server.board.delete(first);
    const second = lab.server.submit({ name: "reboot", template: REBOOT });
    await lab.server.until(() => second.state === "SUCCESS");

    expect(lab.machines[0]?.count("reset")).toBe(2);
    expect(reportsOf(lab)).toEqual([...ONCE, ...ONCE]);
  });

  test("while that still ran does not get its end", async () => {
    await using lab = await rack();
    const first = lab.server.submit({ name: "reboot", template: REBOOT });
    const anew: Workflow[] = [];
    onReport(lab, first, "RUNNING", () => {
      lab.server.board.delete(first);
      anew.push(lab.server.submit({ name: "reboot", template: REBOOT }));
    });
    const states: string[] = [];
    lab.server.board.on("change", ({ workflow, action }) => {
      if (action && anew.includes(workflow)) states.push(`${action.name} ${action.state}`);
    });
    await using _worker = await standingWorker(lab, { clock: scaledClock(SPEED) });
    await lab.server.until(() => anew[0]?.state === "SUCCESS");

    expect(lab.machines[0]?.count("reset")).toBe(2);
    expect(states).toEqual(ONCE);
  });

  test("does not get the previous end when it begins and the worker dies before the launch", async () => {
    await using lab = await rack();
    const first = lab.server.submit({ name: "reboot", template: REBOOT });
    {
      await using worker = await standingWorker(lab, { clock: scaledClock(SPEED) });
      await lab.server.until(() => first.state === "SUCCESS");

      expect(worker.journal.find(RESET)?.phase).toBe("acknowledged");
    }
    const before = lab.server.reports.length;
    const second = lab.server.submit({ name: "reboot", template: REBOOT });
    {
      // The report is on its way: when it arrives the worker may be gone.
      lab.server.faults.delay("ReportActionStatus", 60_000);
      await using worker = await standingWorker(lab, { clock: scaledClock(SPEED) });
      await lab.server.until(() => lab.server.reports.length > before);

      expect(worker.journal.find(RESET)?.phase).toBe("launching");
    }
    for (const action of second.tasks[0]?.actions.slice(0, 1) ?? []) action.state = "RUNNING";
    lab.server.board.set(second, "RUNNING");

    await using _worker = await standingWorker(lab, { clock: scaledClock(SPEED) });
    await lab.server.until(() => second.state === "SUCCESS");

    expect(lab.machines[0]?.count("reset")).toBe(2);
    expect(reportsOf(lab).slice(before)).toEqual(["power-reset RUNNING", ...ONCE]);
  });

  test("does not begin while the previous one cannot be forgotten", async () => {
    await using lab = await rack();
    const first = lab.server.submit({ name: "reboot", template: REBOOT });
    await using worker = await standingWorker(lab, { clock: scaledClock(SPEED) });
    await lab.server.until(() => first.state === "SUCCESS");
    const remove = worker.journal.remove.bind(worker.journal);
    let refusals = 2;
    worker.journal.remove = async (key) => {
      refusals -= 1;
      if (refusals >= 0) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      await remove(key);
    };

    const second = lab.server.submit({ name: "reboot", template: REBOOT });
    await lab.server.until(() => second.state === "SUCCESS");

    expect(worker.logged.map(({ msg }) => msg)).toContain("action not started: journal write failed");
    expect(lab.machines[0]?.count("reset")).toBe(2);
  });
});
