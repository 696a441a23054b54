import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Action } from "../../../../worker/core/action/action.ts";
import {
  State,
  type WorkflowAction,
  WorkflowActionSchema,
} from "../../../../worker/features/legacy/gen/workflow_pb.ts";
import { actionOf, BEGUN, statusOf, TO_BEGIN } from "../../../../worker/features/legacy/legacy-messages.ts";
import { MalformedAction } from "../../../../worker/sources/action-fields.ts";

type Fields = Partial<Omit<WorkflowAction, "$typeName" | "$unknown">>;

function given(fields: Fields = {}): WorkflowAction {
  return create(WorkflowActionSchema, {
    taskName: "bmc",
    name: "power-off",
    image: "power-off:v1",
    timeout: 90n,
    workerId: "pbnj",
    ...fields,
  });
}

function parse(fields: Fields = {}, begun = false): Action {
  return actionOf("default/reboot", { index: 2, action: given(fields) }, begun);
}

describe("an action of the deprecated API", () => {
  it("has all fields of the list", () => {
    const action = parse({
      command: ["--mode", "soft"],
      onTimeout: ["--mode", "hard"],
      onFailure: ["--check"],
      volumes: ["/a:/b:ro"],
      environment: ["MACHINE=node-01", "NOTE=a=b", "EMPTY="],
      pid: "host",
    });

    expect(action).toEqual({
      workflowId: "default/reboot",
      taskId: "bmc",
      agentId: "pbnj",
      actionId: "2/bmc/power-off",
      name: "power-off",
      image: "power-off:v1",
      timeoutMs: 90_000,
      command: ["--mode", "soft"],
      volumes: ["/a:/b:ro"],
      environment: { MACHINE: "node-01", NOTE: "a=b", EMPTY: "" },
      onTimeout: ["--mode", "hard"],
      onFailure: ["--check"],
      pidNamespace: "host",
      returningIds: TO_BEGIN,
    });
  });

  it("has no hook and no namespace if the list has none, and whether it has begun", () => {
    const action = parse({}, true);

    expect(action).not.toHaveProperty("onTimeout");
    expect(action).not.toHaveProperty("onFailure");
    expect(action).not.toHaveProperty("pidNamespace");
    expect(action.returningIds).toBe(BEGUN);
    expect(parse().returningIds).toBe(TO_BEGIN);
  });

  it.each([
    ["the action has no task_name", { taskName: "" }],
    ["the action has no name", { name: "" }],
  ])("is rejected if it cannot be reported: %s", (message, fields) => {
    expect(() => parse(fields)).toThrow(new MalformedAction(message));
  });

  it.each<[string, Fields]>([
    ["the action has no image", { image: "" }],
    ["the action's timeout is negative: -1 s", { timeout: -1n }],
    ["an environment entry of the action is not KEY=value", { environment: ["secret"] }],
  ])("keeps its IDs if it can be reported: %s", (unreadable, fields) => {
    const action = parse({ command: ["--mode"], ...fields }, true);

    expect(action).toEqual({
      workflowId: "default/reboot",
      taskId: "bmc",
      agentId: "pbnj",
      actionId: "2/bmc/power-off",
      name: "power-off",
      image: fields.image ?? "power-off:v1",
      timeoutMs: 0,
      command: [],
      volumes: [],
      environment: {},
      returningIds: BEGUN,
      unreadable,
    });
  });
});

describe("a report to the deprecated API", () => {
  const startedAt = new Date("2026-03-01T10:00:00Z");

  it("sends RUNNING with 0 seconds", () => {
    const status = statusOf({ action: parse(), state: "running", startedAt, message: "running" });

    expect(status).toMatchObject({
      workflowId: "default/reboot",
      taskName: "bmc",
      actionName: "power-off",
      workerId: "pbnj",
      actionStatus: State.RUNNING,
      seconds: 0n,
      message: "running",
    });
  });

  it.each([
    ["success", State.SUCCESS],
    ["failed", State.FAILED],
    ["timeout", State.TIMEOUT],
  ] as const)("sends %s with whole seconds", (state, number) => {
    const stoppedAt = new Date(startedAt.getTime() + 61_900);

    expect(statusOf({ action: parse(), state, startedAt, stoppedAt, message: "m" })).toMatchObject({
      actionStatus: number,
      seconds: 61n,
    });
  });

  it("sends 0 seconds when the clock was set back", () => {
    const stoppedAt = new Date(startedAt.getTime() - 5_000);

    expect(statusOf({ action: parse(), state: "success", startedAt, stoppedAt, message: "m" }).seconds).toBe(
      0n,
    );
  });
});
