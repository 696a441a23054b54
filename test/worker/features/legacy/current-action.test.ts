import { describe, expect, it } from "vitest";
import { currentActionOf, currentIndexOf } from "../../../../worker/features/legacy/current-action.ts";
import { State } from "../../../../worker/features/legacy/gen/workflow_pb.ts";

const actions = [
  { taskName: "prepare", name: "off", workerId: "bmc" },
  { taskName: "prepare", name: "pxe", workerId: "bmc" },
  { taskName: "install", name: "image", workerId: "machine" },
  { taskName: "finish", name: "on", workerId: "bmc" },
];

function at(index: number, state: State) {
  const current = actions[index];
  return {
    currentTask: current?.taskName ?? "",
    currentAction: current?.name ?? "",
    currentActionIndex: BigInt(index),
    currentActionState: state,
  };
}

describe("the action to run now", () => {
  it.each([
    ["the first one before any has run", at(0, State.PENDING), "bmc", "off"],
    ["the current one while it is pending", at(1, State.PENDING), "bmc", "pxe"],
    ["the current one while it runs", at(1, State.RUNNING), "bmc", "pxe"],
    ["the next one after a success", at(0, State.SUCCESS), "bmc", "pxe"],
    ["the next task's first one, for its worker", at(1, State.SUCCESS), "machine", "image"],
    ["the first worker's again after the other worker's success", at(2, State.SUCCESS), "bmc", "on"],
  ])("is %s", (_, context, workerId, name) => {
    expect(currentActionOf(context, actions, workerId)?.action.name).toBe(name);
  });

  it.each([
    ["while another worker's is current", at(2, State.PENDING)],
    ["after a success, if the next action is another worker's", at(1, State.SUCCESS)],
    ["after a failure", at(0, State.FAILED)],
    ["after a timeout", at(0, State.TIMEOUT)],
    ["after the last success", at(3, State.SUCCESS)],
    ["when the workflow is complete and names no action", { ...at(4, State.PENDING), currentAction: "" }],
    ["when the list is too short for the index", at(9, State.PENDING)],
    ["when the list belongs to another workflow by now", { ...at(0, State.PENDING), currentAction: "reset" }],
    ["when the current task is another one by now", { ...at(0, State.PENDING), currentTask: "other" }],
  ])("is none %s", (_, context) => {
    expect(currentActionOf(context, actions, "bmc")).toBeUndefined();
  });

  it("is the first one before an action is current, as the server with a database says it", () => {
    const before = { ...at(0, State.PENDING), currentTask: "", currentAction: "" };

    expect(currentActionOf(before, actions, "bmc")).toEqual({ index: 0, action: actions[0] });
  });

  it("is none, without the actions, once the workflow failed", () => {
    expect(currentIndexOf(at(0, State.FAILED))).toBeUndefined();
    expect(currentIndexOf(at(0, State.RUNNING))).toBe(0);
  });
});
