import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTinkServer, type TinkServer } from "../../../../simulators/tink/server.ts";
import type { Workflow } from "../../../../simulators/tink/workflow.ts";
import { actionKey } from "../../../../worker/core/action/action.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { type LegacyLab, legacyLab, standingWorker, templateOf } from "../../legacy-lab.ts";

/** The worker's clock is so much faster than the server's: its 5 s are 250 ms. */
const SPEED = 20;
const HOLD_MS = 800;
const NOT_WRITTEN = new ConnectError("error writing report status: conflict", Code.Internal);

const environment = { MACHINE: "node-01" };
const RESET = { name: "power-reset", environment };
const STATUS = { name: "power-status", environment };

let rack: LegacyLab;
let server: TinkServer;

beforeEach(async () => {
  rack = await legacyLab({ machines: { "node-01": { power: "on" } } });
});
afterEach(async () => {
  await server.close();
  await rack[Symbol.asyncDispose]();
});

async function serve(holdMs: number): Promise<void> {
  server = await startTinkServer({ holdMs });
}

function startWorker() {
  const flags = { grpcServer: server.address, grpcApi: "current", backoffMaxInterval: "2s" };
  return standingWorker(rack, { clock: scaledClock(SPEED), flags });
}

/** Once, when the workflow's first action has begun. */
function onceRunning(workflow: Workflow, then: () => void): void {
  const listener = (change: { workflow: Workflow; action?: { state: string } }) => {
    if (change.workflow !== workflow || change.action?.state !== "RUNNING") return;
    server.board.off("change", listener);
    then();
  };
  server.board.on("change", listener);
}

function keyOf(workflow: Workflow): string {
  const actionId = workflow.tasks[0]?.actions[0]?.id ?? "";
  return actionKey({ workflowId: workflow.id, actionId });
}

const reportsOf = ({ id }: Workflow) =>
  server.reports.filter(({ workflowId }) => workflowId === id).map(({ state }) => state);

describe("the end of an action whose workflow was deleted", () => {
  test("keeps its lane no longer than 5 s while the server holds the report", async () => {
    await serve(60_000);
    await using worker = await startWorker();
    const deleted = server.submit({ template: templateOf([STATUS]) });
    onceRunning(deleted, () => server.board.delete(deleted));
    await server.until(() => reportsOf(deleted).includes("SUCCESS"));

    const next = server.submit({ name: "next", template: templateOf([STATUS]) });
    await server.until(() => next.state === "SUCCESS");

    expect(worker.journal.find(keyOf(deleted))?.phase).toBe("ended");
    expect(worker.logged.map(({ msg }) => msg)).toContain("report pending, lane continues");
  });

  test("is dropped with the first answer that the server has held", async () => {
    await serve(HOLD_MS);
    await using worker = await startWorker();
    const deleted = server.submit({ template: templateOf([STATUS]) });
    onceRunning(deleted, () => server.board.delete(deleted));

    await expect.poll(() => worker.journal.find(keyOf(deleted))?.phase, { timeout: 10_000 }).toBe("dropped");

    expect(reportsOf(deleted)).toEqual(["RUNNING", "SUCCESS"]);
    const messages = worker.logged.map(({ msg }) => msg).filter((msg) => msg.includes("report"));
    expect(messages).toEqual([
      "report acknowledged",
      "report pending, lane continues",
      "workflow not found, report dropped",
    ]);
  });

  test("is dropped when the workflow is recreated under the same name, which is then served", async () => {
    await serve(60_000);
    await using worker = await startWorker();
    const deleted = server.submit({ name: "again", template: templateOf([STATUS]) });
    onceRunning(deleted, () => server.board.delete(deleted));
    await server.until(() => reportsOf(deleted).includes("SUCCESS"));

    const anew = server.submit({ name: "again", template: templateOf([STATUS]) });
    await server.until(() => anew.state === "SUCCESS");

    expect(worker.journal.find(keyOf(deleted))?.phase).toBe("acknowledged");
    expect(reportsOf(anew)).toEqual(["RUNNING", "SUCCESS", "RUNNING", "SUCCESS"]);
  });

  test("is dropped after a few attempts if the server answers at once", async () => {
    await serve(0);
    await using worker = await startWorker();
    const deleted = server.submit({ template: templateOf([STATUS]) });
    onceRunning(deleted, () => server.board.delete(deleted));

    await expect.poll(() => worker.journal.find(keyOf(deleted))?.phase, { timeout: 10_000 }).toBe("dropped");

    // RUNNING, and attempts for 3 s; how many depends on the jitter.
    expect(reportsOf(deleted).length).toBeLessThanOrEqual(6);
  });
});

describe("an action whose end the server does not accept", () => {
  test("is not run again while its report is pending, and its workflow continues afterwards", async () => {
    await serve(HOLD_MS);
    await using worker = await startWorker();
    const workflow = server.submit({ template: templateOf([RESET, STATUS]) });
    onceRunning(workflow, () => server.faults.fail("ReportActionStatus", NOT_WRITTEN, 6));

    await server.until(() => workflow.state === "SUCCESS");

    expect(worker.logged.map(({ msg }) => msg)).toContain("report pending, lane continues");
    expect(rack.machines[0]?.count("reset")).toBe(1);
    expect(reportsOf(workflow)).toEqual([
      "RUNNING",
      ...Array.from({ length: 7 }, () => "SUCCESS"),
      ...["RUNNING", "SUCCESS"],
    ]);
  });

  test("is reported by the next worker", async () => {
    await serve(HOLD_MS);
    const workflow = server.submit({ template: templateOf([RESET]) });
    onceRunning(workflow, () => server.faults.fail("ReportActionStatus", NOT_WRITTEN, 1_000));
    {
      await using worker = await startWorker();
      await expect
        .poll(() => worker.logged.map(({ msg }) => msg), { timeout: 5_000 })
        .toContain("report pending, lane continues");
    }

    server.faults.clear();
    await using _worker = await startWorker();
    await server.until(() => workflow.state === "SUCCESS");

    expect(rack.machines[0]?.count("reset")).toBe(1);
  });

  test("is not reported again once the server serves the next action", async () => {
    await serve(60_000);
    await using worker = await startWorker();
    const workflow = server.submit({ template: templateOf([RESET, STATUS]) });
    const lost = server.faults.holdAcknowledgement(({ state }) => state === "SUCCESS");

    await lost;
    await server.until(() => workflow.state === "SUCCESS");

    expect(reportsOf(workflow)).toEqual(["RUNNING", "SUCCESS", "RUNNING", "SUCCESS"]);
    expect(worker.logged.map(({ msg }) => msg)).toContain(
      "report superseded by another action of the workflow",
    );
    await expect.poll(() => worker.journal.unfinished()).toEqual([]);
  });
});

test("a start that the server does not accept within 20 s releases the machine", async () => {
  await serve(60_000);
  await using worker = await startWorker();
  const deleted = server.submit({ template: templateOf([STATUS]) });
  server.faults.delay("ReportActionStatus", 60_000);

  // Deleted while its report is held, so that the server cannot serve it a second time.
  await server.until(() => server.reports.length > 0);
  server.board.delete(deleted);
  await expect
    .poll(() => worker.logged.map(({ msg }) => msg), { timeout: 20_000 })
    .toContain("action not started: start report failed");
  const next = server.submit({ template: templateOf([STATUS]) });
  await server.until(() => next.state === "SUCCESS");

  expect(worker.journal.find(keyOf(deleted))).toBeUndefined();
});
