import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("erase-drives", {
  environment: { DRIVES: "0,1" },
  keywords: ["storage", "wipe", "sanitize", "secure-erase"],
  mostRoundTrips: { redfish: 20 },
  output: {
    before: powerState,
    data: z.strictObject({
      drives: z
        .array(
          z.strictObject({
            id: z.string().describe("The BMC's ID of the drive"),
            serialNumber: z.string().optional().describe("Absent if the BMC does not report it"),
          }),
        )
        .describe("The drives that were erased"),
    }),
  },
  result: {
    message: "erased 2 drives: 0 (serial number DISK-0), 1 (serial number DISK-1) via redfish",
    before: "off",
    changed: true,
    durationMs: 41_200,
    roundTrips: 24,
    data: {
      drives: [
        { id: "0", serialNumber: "DISK-0" },
        { id: "1", serialNumber: "DISK-1" },
      ],
    },
  },
});
