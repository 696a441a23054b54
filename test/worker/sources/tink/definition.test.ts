import { describe, expect, it } from "vitest";
import { file_workflow } from "../../../../worker/sources/tink/gen/workflow_pb.ts";
import { fieldsOf, valuesOf } from "../../source/wire-names.ts";

describe("the tink API's definition", () => {
  const messages = new Map(file_workflow.messages.map((message) => [message.name, message]));

  it.each<readonly [message: string, fields: readonly string[]]>([
    ["ActionRequest", ["1 agent_id string", "2 agent_attributes AgentAttributes"]],
    [
      "AgentAttributes",
      [
        "1 cpu CPU",
        "2 memory Memory",
        "3 block repeated Block",
        "4 network repeated Network",
        "5 pci repeated PCI",
        "6 gpu repeated GPU",
        "7 chassis Chassis",
        "8 bios BIOS",
        "9 baseboard Baseboard",
        "10 product Product",
      ],
    ],
    ["CPU", ["1 total_cores uint32", "2 total_threads uint32", "3 processors repeated Processor"]],
    [
      "Processor",
      [
        "1 id uint32",
        "2 cores uint32",
        "3 threads uint32",
        "4 vendor string",
        "5 model string",
        "6 capabilities repeated string",
      ],
    ],
    ["Memory", ["1 total string", "2 usable string", "3 total_bytes int64", "4 usable_bytes int64"]],
    [
      "Block",
      [
        "1 name string",
        "2 controller_type string",
        "3 drive_type string",
        "4 size string",
        "5 physical_block_size string",
        "6 vendor string",
        "7 model string",
        "8 wwn string",
        "9 serial_number string",
        "10 size_bytes int64",
        "11 physical_block_size_bytes int64",
      ],
    ],
    [
      "Network",
      [
        ...["1 name string", "2 mac string", "3 speed string", "4 enabled_capabilities repeated string"],
        "5 speed_mbps uint32",
      ],
    ],
    ["PCI", ["1 vendor string", "2 product string", "3 class string", "4 driver string"]],
    ["GPU", ["1 vendor string", "2 product string", "3 class string", "4 driver string"]],
    ["Chassis", ["1 serial string", "2 vendor string"]],
    ["BIOS", ["1 vendor string", "2 version string", "3 release_date string"]],
    ["Baseboard", ["1 vendor string", "2 product string", "3 version string", "4 serial_number string"]],
    ["Product", ["1 name string", "2 vendor string", "3 serial_number string"]],
    [
      "ActionResponse",
      [
        "1 workflow_id string",
        "2 task_id string",
        "3 agent_id string",
        "4 action_id string",
        "5 name string",
        "6 image string",
        "7 timeout int64",
        "8 command repeated string",
        "9 volumes repeated string",
        "10 environment repeated string",
        "11 pid string",
        "12 namespaces Namespaces",
      ],
    ],
    ["Namespaces", ["1 network string", "2 pid string"]],
    [
      "ActionStatusRequest",
      [
        "1 workflow_id string",
        "2 agent_id string",
        "3 task_id string",
        "4 action_id string",
        "5 action_name string",
        "6 action_state StateType",
        "7 execution_start Timestamp",
        "8 execution_stop Timestamp",
        "9 execution_duration string",
        "10 message ActionMessage",
      ],
    ],
    ["ActionMessage", ["1 message string"]],
    ["ActionStatusResponse", []],
  ])("gives %s the numbers and names of the wire", (name, fields) => {
    const message = messages.get(name);

    expect(message?.typeName).toBe(`proto.${name}`);
    expect(message && fieldsOf(message)).toEqual(fields);
  });

  it("has no message beyond the API's", () => {
    expect(messages.size).toBe(18);
  });

  it("has the API's enums", () => {
    const states = messages.get("ActionStatusRequest")?.nestedEnums[0];
    const violations = file_workflow.enums[0];

    expect(states && valuesOf(states)).toEqual([
      "0 UNSPECIFIED",
      "1 PENDING",
      "2 RUNNING",
      "3 FAILED",
      "4 TIMEOUT",
      "5 SUCCESS",
    ]);
    expect(violations && valuesOf(violations)).toEqual([
      "0 PRECONDITION_FAILURE_VIOLATION_UNSPECIFIED",
      "1 PRECONDITION_FAILURE_VIOLATION_NO_ACTION_AVAILABLE",
    ]);
  });

  it("calls the service and its methods as the wire does", () => {
    const service = file_workflow.services[0];

    expect(service?.typeName).toBe("proto.WorkflowService");
    expect(service?.methods.map(({ name, methodKind }) => `${name} ${methodKind}`)).toEqual([
      "GetAction unary",
      "ReportActionStatus unary",
    ]);
  });
});
