import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { firmwareItem } from "../harness/input/reference-parts.ts";

const items = z.array(firmwareItem);
const bmc = { id: "BMC", name: "BMC firmware", updateable: true, related: ["/redfish/v1/Managers/1"] };

export const reference = actionReference("update-firmware", {
  environment: { FIRMWARE_URI: "https://192.0.2.9/bmc-1.3.0.bin", TARGETS: "BMC", FIRMWARE_VERSION: "1.3.0" },
  keywords: ["firmware", "bios", "update", "upgrade"],
  mostRoundTrips: { redfish: 26 },
  polls: true,
  output: {
    before: items.describe("The targets, or all firmware, before"),
    after: items.describe("The same as read back"),
    data: z.strictObject({
      pending: z.boolean().optional().describe("Whether the update takes effect after the next boot"),
    }),
  },
  result: {
    message: "firmware updated: BMC 1.2.3 to 1.3.0 via redfish",
    before: [{ ...bmc, version: "1.2.3" }],
    after: [{ ...bmc, version: "1.3.0" }],
    changed: true,
    durationMs: 184_000,
    roundTrips: 61,
    data: { pending: false },
  },
});
