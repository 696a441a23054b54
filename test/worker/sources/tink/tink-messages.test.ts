import { create, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import type { ActionStatus } from "../../../../worker/core/action/action.ts";
import { MalformedAction } from "../../../../worker/sources/action-fields.ts";
import {
  ActionResponseSchema,
  ActionStatusRequest_StateType,
} from "../../../../worker/sources/tink/gen/workflow_pb.ts";
import { actionOf, statusRequestOf } from "../../../../worker/sources/tink/tink-messages.ts";

type Response = Exclude<MessageInitShape<typeof ActionResponseSchema>, Message>;

const IDS: Response = {
  workflowId: "default/reboot",
  taskId: "task",
  agentId: "agent",
  actionId: "action",
  name: "power-off",
  image: "power:v1",
};

function actionFrom(response: Response) {
  return actionOf(create(ActionResponseSchema, { ...IDS, ...response }), "agent");
}

describe("actionOf", () => {
  it("reads every field", () => {
    const action = actionFrom({
      timeout: 90n,
      command: ["off"],
      volumes: ["/a:/b:ro"],
      environment: ["A=1", "B=x=y", "C=", "__proto__=own"],
      namespaces: { network: "host", pid: "host" },
    });

    expect(action).toEqual({
      ...IDS,
      timeoutMs: 90_000,
      command: ["off"],
      volumes: ["/a:/b:ro"],
      environment: Object.fromEntries([
        ["A", "1"],
        ["B", "x=y"],
        ["C", ""],
        ["__proto__", "own"],
      ]),
      networkNamespace: "host",
      pidNamespace: "host",
    });
  });

  it("omits empty fields", () => {
    const action = actionFrom({ pid: "", namespaces: { network: "", pid: "" } });

    expect(action).toEqual({ ...IDS, timeoutMs: 0, command: [], volumes: [], environment: {} });
  });

  it("prefers the namespace's pid to the older field", () => {
    expect(actionFrom({ pid: "host" }).pidNamespace).toBe("host");
    expect(actionFrom({ pid: "host", namespaces: { pid: "private" } }).pidNamespace).toBe("private");
    expect(actionFrom({ pid: "host", namespaces: { network: "host" } }).pidNamespace).toBe("host");
  });

  it("limits a timeout to the longest timer", () => {
    expect(actionFrom({ timeout: 2n ** 62n }).timeoutMs).toBe(2_147_483_647);
  });

  it.each<readonly [problem: string, response: Response]>([
    ["no workflow_id", { workflowId: "" }],
    ["no task_id", { taskId: "" }],
    ["no action_id", { actionId: "" }],
    ['for agent ""', { agentId: "" }],
    ['for agent "other"', { agentId: "other" }],
  ])("rejects an action that cannot be reported: %s", (problem, response) => {
    expect(() => actionFrom(response)).toThrow(MalformedAction);
    expect(() => actionFrom(response)).toThrow(problem);
  });

  it.each<readonly [reason: string, response: Response]>([
    ["the action has no name", { name: "" }],
    ["the action has no image", { image: "" }],
    ["the action's timeout is negative: -1 s", { timeout: -1n }],
    ["an environment entry of the action is not KEY=value", { environment: ["A"] }],
    ["an environment entry of the action is not KEY=value", { environment: ["=secret"] }],
  ])("keeps the IDs of an action of which it can report: %s", (unreadable, response) => {
    const { name, image, ...ids } = IDS;
    const named = { name: response.name === "" ? "action" : name, image: response.image ?? image };
    const nothing = { timeoutMs: 0, command: [], volumes: [], environment: {} };

    expect(actionFrom(response)).toEqual({ ...ids, ...named, ...nothing, unreadable });
  });
});

describe("statusRequestOf", () => {
  const running: ActionStatus = {
    action: {
      workflowId: "default/reboot",
      taskId: "task",
      agentId: "agent",
      actionId: "action",
      name: "power-off",
    },
    state: "running",
    startedAt: new Date("2026-01-02T03:04:05.678Z"),
    message: "powering off",
  };

  it("sends all IDs, the start and the message", () => {
    const request = statusRequestOf(running);

    expect(request).toMatchObject({
      workflowId: "default/reboot",
      taskId: "task",
      agentId: "agent",
      actionId: "action",
      actionName: "power-off",
      actionState: ActionStatusRequest_StateType.RUNNING,
      executionDuration: "",
      message: { message: "powering off" },
    });
    expect(request.executionStart && timestampDate(request.executionStart)).toEqual(running.startedAt);
    expect(request.executionStop).toBeUndefined();
  });

  it.each([
    ["success", ActionStatusRequest_StateType.SUCCESS],
    ["failed", ActionStatusRequest_StateType.FAILED],
    ["timeout", ActionStatusRequest_StateType.TIMEOUT],
  ] as const)("sends the end and the duration with %s", (state, actionState) => {
    const stoppedAt = new Date(running.startedAt.getTime() + 62_500);

    const request = statusRequestOf({ ...running, state, stoppedAt });

    expect(request).toMatchObject({ actionState, executionDuration: "1m2.5s" });
    expect(request.executionStop && timestampDate(request.executionStop)).toEqual(stoppedAt);
  });

  it("sends no negative duration when the clock was set back", () => {
    const stoppedAt = new Date(running.startedAt.getTime() - 5_000);

    expect(statusRequestOf({ ...running, state: "failed", stoppedAt }).executionDuration).toBe("0s");
  });
});
