import { actionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference = actionReference("clear-boot-override", {
  keywords: ["boot"],
  mostRoundTrips: { redfish: 4, ipmi: 6 },
  output: {
    before: bootOverride.describe("The boot override as read; only in a dry run"),
    after: bootOverride,
  },
  result: {
    message: "boot none via redfish",
    after: { device: "none", mode: "uefi" },
    changed: true,
    durationMs: 1081,
    roundTrips: 4,
  },
});
