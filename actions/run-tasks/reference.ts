import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { bootOverride, mediaState, powerState } from "../harness/input/reference-parts.ts";

const state = z.union([powerState, bootOverride, mediaState]);

export const reference = actionReference("run-tasks", {
  environment: {
    TASKS: "[{powerAction: off}, {bootDevice: {device: pxe, efiBoot: true}}, {powerAction: on}]",
  },
  keywords: ["power", "boot", "pxe", "virtual media", "rufio"],
  mostRoundTrips: { redfish: 12, ipmi: 14 },
  polls: true,
  output: {
    data: z.strictObject({
      tasks: z
        .array(
          z
            .strictObject({
              task: z.string().describe("The task, such as boot pxe once (uefi)"),
              message: z.string().describe("The result, such as off after 2.0 s (forced)"),
              before: state.optional().describe("The power or the drive before; absent for a boot device"),
              after: state.optional().describe("The power, the boot override or the drive after"),
              changed: z.boolean().optional().describe("Whether the task changed the machine"),
              durationMs: z.number().describe("Duration in milliseconds"),
            })
            .describe("A completed task"),
        )
        .describe("In order; if the list failed or was cancelled, the tasks completed before"),
    }),
  },
  result: {
    message: "3 tasks done: off after 2.0 s (forced); boot pxe once (uefi); on after 3.1 s via redfish",
    changed: true,
    durationMs: 5_482,
    roundTrips: 11,
    data: {
      tasks: [
        {
          task: "off",
          message: "off after 2.0 s (forced)",
          before: "on",
          after: "off",
          changed: true,
          durationMs: 2_043,
        },
        {
          task: "boot pxe once (uefi)",
          message: "boot pxe once (uefi)",
          after: { device: "pxe", persistent: false, mode: "uefi" },
          changed: true,
          durationMs: 318,
        },
        {
          task: "on",
          message: "on after 3.1 s",
          before: "off",
          after: "on",
          changed: true,
          durationMs: 3_097,
        },
      ],
    },
  },
});
