import { describe, expect, it } from "vitest";
import { file_workflow } from "../../../../worker/features/legacy/gen/workflow_pb.ts";
import { fieldsOf, valuesOf } from "../../source/wire-names.ts";

describe("the deprecated API's definition", () => {
  const messages = new Map(file_workflow.messages.map((message) => [message.name, message]));

  it.each<readonly [message: string, fields: readonly string[]]>([
    ["Empty", []],
    ["WorkflowContextRequest", ["1 worker_id string"]],
    [
      "WorkflowContext",
      [
        "1 workflow_id string",
        "2 current_worker string",
        "3 current_task string",
        "4 current_action string",
        "5 current_action_index int64",
        "6 current_action_state State",
        "7 total_number_of_actions int64",
      ],
    ],
    ["WorkflowActionsRequest", ["1 workflow_id string"]],
    ["WorkflowActionList", ["1 action_list repeated WorkflowAction"]],
    [
      "WorkflowAction",
      [
        "1 task_name string",
        "2 name string",
        "3 image string",
        "4 timeout int64",
        "5 command repeated string",
        "6 on_timeout repeated string",
        "7 on_failure repeated string",
        "8 worker_id string",
        "9 volumes repeated string",
        "10 environment repeated string",
        "11 pid string",
      ],
    ],
    [
      "WorkflowActionStatus",
      [
        "1 workflow_id string",
        "2 task_name string",
        "3 action_name string",
        "4 action_status State",
        "5 seconds int64",
        "6 message string",
        "7 created_at Timestamp",
        "8 worker_id string",
      ],
    ],
  ])("gives %s the numbers and names of the wire", (name, fields) => {
    const message = messages.get(name);

    expect(message?.typeName).toBe(`proto.${name}`);
    expect(message && fieldsOf(message)).toEqual(fields);
  });

  it("has no message beyond the API's", () => {
    expect(messages.size).toBe(7);
  });

  it("has the API's states", () => {
    const states = file_workflow.enums[0];

    expect(states && valuesOf(states)).toEqual([
      "0 STATE_PENDING",
      "1 STATE_RUNNING",
      "2 STATE_FAILED",
      "3 STATE_TIMEOUT",
      "4 STATE_SUCCESS",
    ]);
  });

  it("calls the service and its methods as the wire does", () => {
    const service = file_workflow.services[0];

    expect(service?.typeName).toBe("proto.WorkflowService");
    expect(service?.methods.map(({ name, methodKind }) => `${name} ${methodKind}`)).toEqual([
      "GetWorkflowContexts server_streaming",
      "GetWorkflowActions unary",
      "ReportActionStatus unary",
    ]);
  });
});
