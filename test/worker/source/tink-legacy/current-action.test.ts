import { describe, expect, it } from "vitest";
import { State } from "../../../../worker/source/tink-legacy/gen/workflow_pb.ts";
import { turnIndexOf, turnOf } from "../../../../worker/source/tink-legacy/current-action.ts";

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

describe("whose turn it is", () => {
  it.each([
    ["the first action's worker's before anything is done", at(0, State.PENDING), "bmc", "off"],
    ["the current action's worker's while it is to be done", at(1, State.PENDING), "bmc", "pxe"],
    ["the current action's worker's while it runs", at(1, State.RUNNING), "bmc", "pxe"],
    ["the next action's worker's after a success", at(0, State.SUCCESS), "bmc", "pxe"],
    ["another worker's where the next task is its", at(1, State.SUCCESS), "machine", "image"],
    ["the first one's again after the other worker's success", at(2, State.SUCCESS), "bmc", "on"],
  ])("is %s", (_, context, workerId, name) => {
    expect(turnOf(context, actions, workerId)?.action.name).toBe(name);
  });

  it.each([
    ["while it is another worker's", at(2, State.PENDING)],
    ["after a success that hands over to another worker", at(1, State.SUCCESS)],
    ["after a failure", at(0, State.FAILED)],
    ["after a time-out", at(0, State.TIMEOUT)],
    ["after the last success", at(3, State.SUCCESS)],
    ["when all is done and no action is named", { ...at(4, State.PENDING), currentAction: "" }],
    ["when the list is too short for the index", at(9, State.PENDING)],
    ["when the list is another workflow's by now", { ...at(0, State.PENDING), currentAction: "reset" }],
    ["when the task is another one by now", { ...at(0, State.PENDING), currentTask: "other" }],
  ])("is not this worker's %s", (_, context) => {
    expect(turnOf(context, actions, "bmc")).toBeUndefined();
  });

  it("is the first action's where no action is current yet, as the server with a database says it", () => {
    const before = { ...at(0, State.PENDING), currentTask: "", currentAction: "" };

    expect(turnOf(before, actions, "bmc")).toEqual({ index: 0, action: actions[0] });
  });

  it("is nobody's, without a look at the actions, once the workflow failed", () => {
    expect(turnIndexOf(at(0, State.FAILED))).toBeUndefined();
    expect(turnIndexOf(at(0, State.RUNNING))).toBe(0);
  });
});
