import { ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ExampleTask, exampleTemplate } from "../../../simulators/tink/example-template.ts";
import { type ActionState, createWorkflow, type Workflow } from "../../../simulators/tink/workflow.ts";
import { type Assignment, type Report, WorkflowBoard } from "../../../simulators/tink/workflow-board.ts";
import { parseTemplate } from "../../../worker/template/parse-template.ts";

let board: WorkflowBoard;

beforeEach(() => {
  board = new WorkflowBoard();
});

afterEach(() => board.close());

function submit(tasks: readonly ExampleTask[], globalTimeoutSeconds = 600): Workflow {
  const parsed = parseTemplate(exampleTemplate(tasks, globalTimeoutSeconds), {});
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const workflow = createWorkflow(`default/workflow-${board.all().length + 1}`, parsed.template);
  board.add(workflow);
  return workflow;
}

function reportOf(
  { workflow, task, action }: Assignment,
  state: ActionState,
  more: Partial<Report> = {},
): Report {
  return {
    workflowId: workflow.id,
    agentId: task.agentId,
    taskId: task.id,
    actionId: action.id,
    actionName: action.name,
    state,
    startedAt: new Date(),
    duration: "",
    message: "",
    ...more,
  };
}

/** What a call is refused with, as `code: text`. */
function refusal(call: () => unknown): string {
  try {
    call();
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    return `${error.code}: ${error.rawMessage}`;
  }
  throw new Error("the call was not refused");
}

const NOT_FOUND = 5;
const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;
const INTERNAL = 13;

/** One turn of the controller. */
const reconciled = () => new Promise((resolve) => setImmediate(resolve));

describe("serving", () => {
  it("refuses an agent without an ID or without a workflow", () => {
    submit([{ worker: "agent", actions: ["a"] }]);

    expect(refusal(() => board.assign(""))).toBe(`${INVALID_ARGUMENT}: invalid Agent ID`);
    expect(refusal(() => board.assign("other"))).toBe(`${NOT_FOUND}: no Workflows found`);
  });

  it("refuses a workflow that is being prepared or has ended", () => {
    const workflow = submit([{ worker: "agent", actions: ["a"] }]);

    board.set(workflow, { state: "PREPARING" });
    expect(refusal(() => board.assign("agent"))).toBe(
      `${FAILED_PRECONDITION}: Workflow is in preparing state`,
    );

    for (const state of ["FAILED", "TIMEOUT", "SUCCESS", "POST"] as const) {
      board.set(workflow, { state });
      expect(refusal(() => board.assign("agent"))).toBe(
        `${FAILED_PRECONDITION}: Workflow not in pending or running state`,
      );
    }
  });
});

describe("reporting", () => {
  it("refuses a report without IDs, of an unknown workflow, action or agent", () => {
    submit([{ worker: "agent", actions: ["a"] }]);
    const report = reportOf(board.assign("agent"), "RUNNING");

    expect(refusal(() => board.report({ ...report, workflowId: "" }))).toBe(
      `${INVALID_ARGUMENT}: invalid workflow id`,
    );
    expect(refusal(() => board.report({ ...report, taskId: "" }))).toBe(
      `${INVALID_ARGUMENT}: invalid task name`,
    );
    expect(refusal(() => board.report({ ...report, actionId: "" }))).toBe(
      `${INVALID_ARGUMENT}: invalid action name`,
    );
    expect(refusal(() => board.report({ ...report, actionId: "x" }))).toBe(`${NOT_FOUND}: action not found`);
    expect(refusal(() => board.report({ ...report, agentId: "x" }))).toBe(`${NOT_FOUND}: action not found`);
    expect(refusal(() => board.report({ ...report, workflowId: "default/x" }))).toMatch(
      new RegExp(`^${INTERNAL}: .*error getting workflow: `, "s"),
    );
  });

  it("lets a late RUNNING overwrite a TIMEOUT, as the server does", () => {
    const workflow = submit([{ worker: "agent", actions: ["a"] }]);
    const assignment = board.assign("agent");

    board.report(reportOf(assignment, "TIMEOUT"));
    expect(workflow.state).toBe("TIMEOUT");
    board.report(reportOf(assignment, "RUNNING"));

    expect(workflow.state).toBe("RUNNING");
    expect(board.assign("agent").action).toBe(assignment.action);
  });
});

describe("the global timeout", () => {
  it("starts with the first action's start and ends the workflow", async () => {
    const workflow = submit([{ worker: "agent", actions: ["a"] }], 1);
    const changed = new Promise<void>((resolve) => {
      board.on("change", () => {
        if (workflow.state === "TIMEOUT") resolve();
      });
    });

    board.report(reportOf(board.assign("agent"), "RUNNING"));
    expect(workflow.state).toBe("RUNNING");
    // The board's own timer keeps no process alive.
    const awake = setInterval(() => undefined, 1_000);
    await changed;
    clearInterval(awake);

    expect(workflow.state).toBe("TIMEOUT");
  });

  it("never starts when the first report carries no start", async () => {
    const workflow = submit([{ worker: "agent", actions: ["a"] }], 1);
    const { startedAt: _, ...report } = reportOf(board.assign("agent"), "RUNNING");

    board.report(report);
    await reconciled();

    expect(workflow.deadline).toBeUndefined();
  });
});
