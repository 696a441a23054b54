import { describe, test } from "vitest";
import type { Workflow } from "../../simulators/tink/workflow.ts";
import { type LegacyLab, openLegacyLab, templateOf } from "../support/lab.ts";
import { scaledClock } from "../support/scaled-clock.ts";

/** Seconds of the worker pass in milliseconds of the test. */
const SPEED = 40;

const REBOOT = templateOf(
  "pbnj",
  { name: "power-reset", environment: { MACHINE: "node-01" } },
  { name: "power-status", environment: { MACHINE: "node-01" } },
);

const rack = () => openLegacyLab({ machines: { "node-01": { power: "on" } } });

/** Calls back once, when the server took the end of the workflow's first action. */
function onEnd(lab: LegacyLab, workflow: Workflow, then: () => void): void {
  const listener = (change: { workflow: Workflow; action?: { state: string; name: string } }) => {
    const { action } = change;
    if (change.workflow !== workflow || action?.name !== "power-reset" || action.state !== "SUCCESS") return;
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
    onEnd(lab, workflow, () => lab.server.board.lag());
    const worker = await lab.start();

    await expect
      .poll(() => worker.log.filter(({ msg }) => msg.startsWith("stale action skipped")).length, {
        timeout: 15_000,
      })
      .toBeGreaterThan(1);
    lab.server.board.thaw();
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(lab.machine().count("reset")).toBe(1);
    expect(reportsOf(lab)).toEqual(ONCE);
  });

  test("for longer than a cache can be stale gets its end reported again and is not run", async ({
    expect,
  }) => {
    await using lab = await rack();
    const workflow = lab.server.submit({ name: "reboot", template: REBOOT });
    onEnd(lab, workflow, () => lab.server.board.lag());
    const worker = await lab.start([], { clock: scaledClock(SPEED) });

    await expect
      .poll(() => worker.log.map(({ msg }) => msg), { timeout: 15_000 })
      .toContain("duplicate action skipped: already ended");
    lab.server.board.thaw();
    await lab.server.until(() => workflow.state === "SUCCESS");

    expect(lab.machine().count("reset")).toBe(1);
  });
});
