import { ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "vitest";
import { exampleTemplate } from "../../../simulators/tink/example-template.ts";
import { type ActionState, createWorkflow, type Workflow } from "../../../simulators/tink/workflow.ts";
import { LegacyBoard, type LegacyReport } from "../../../simulators/tink-legacy/legacy-board.ts";
import { parseTemplate } from "../../../worker/template/parse-template.ts";

let board = new LegacyBoard();
afterEach(() => {
  board.close();
  board = new LegacyBoard();
});

function added(): Workflow {
  const parsed = parseTemplate(
    exampleTemplate([
      { worker: "pbnj", actions: ["off", "pxe"] },
      { worker: "machine", actions: ["install"] },
    ]),
    {},
  );
  if (!parsed.ok) throw new Error("the example is sound");
  const workflow = createWorkflow("default/w", parsed.template);
  board.add(workflow);
  return workflow;
}

function report(actionName: string, state: ActionState, fields: Partial<LegacyReport> = {}): LegacyReport {
  const names = { workflowId: "default/w", workerId: "pbnj", taskName: "task-1" };
  return { ...names, actionName, state, seconds: 0, message: "", ...fields };
}

function refusal(given: LegacyReport): string {
  try {
    board.report(given);
  } catch (thrown) {
    return ConnectError.from(thrown).message;
  }
  return "taken";
}

describe("contexts", () => {
  it("name the first action that has not succeeded, with its index over all tasks", () => {
    const workflow = added();
    for (const action of workflow.tasks[0]?.actions ?? []) action.state = "SUCCESS";

    expect(board.contexts("pbnj")).toEqual([]);
    expect(board.contexts("machine")).toEqual([
      {
        workflow,
        worker: "machine",
        task: "task-2",
        action: "install",
        index: 2,
        state: "PENDING",
        total: 3,
      },
    ]);
  });

  it.each(["PREPARING", "FAILED", "TIMEOUT", "SUCCESS", "POST"] as const)("leave out %s", (state) => {
    board.set(added(), state);

    expect(board.contexts("pbnj")).toEqual([]);
  });

  it("name no action when all is done and the workflow is open all the same", () => {
    const workflow = added();
    for (const { actions } of workflow.tasks) for (const action of actions) action.state = "SUCCESS";

    expect(board.contexts("pbnj")).toMatchObject([{ task: "", action: "", index: 3 }]);
  });
});

describe("a report", () => {
  it.each([
    ["invalid workflow id", { workflowId: "" }],
    ["invalid workflow id", { workflowId: "default/other" }],
    ["invalid task name", { taskName: "" }],
    ["invalid action name", { actionName: "" }],
    ["reported task name does not match the current action details", { taskName: "task-2" }],
    ["reported action name does not match the current action details", { actionName: "pxe" }],
    ["invalid workflow id", { state: "PENDING" as const }],
  ])("is refused as %s: %j", (text, fields) => {
    added();

    expect(refusal(report("off", "RUNNING", fields))).toBe(`[invalid_argument] ${text}`);
  });

  it("moves the workflow on, and a failure ends it", () => {
    const workflow = added();

    board.report(report("off", "RUNNING"));
    board.report(report("off", "SUCCESS"));
    board.report(report("pxe", "FAILED"));

    expect(workflow.state).toBe("FAILED");
    expect(workflow.tasks[0]?.actions.map(({ state }) => state)).toEqual(["SUCCESS", "FAILED"]);
  });

  it("conflicts on top of an old reading", () => {
    added();
    board.freeze();
    board.report(report("off", "RUNNING"));

    expect(refusal(report("off", "SUCCESS"))).toBe("[invalid_argument] invalid workflow id");
    board.thaw();
    expect(refusal(report("off", "SUCCESS"))).toBe("taken");
  });
});
