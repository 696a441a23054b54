import { actionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference = actionReference("set-pxe-once", {
  environment: { MODE: "uefi" },
  keywords: ["boot", "pxe", "network", "netboot"],
  mostRoundTrips: { redfish: 4, ipmi: 5 },
  output: {
    before: bootOverride.describe("The boot override as read; only in a dry run"),
    after: bootOverride,
  },
  result: {
    message: "boot pxe once (uefi) via redfish",
    after: { device: "pxe", persistent: false, mode: "uefi" },
    changed: true,
    durationMs: 1058,
    roundTrips: 4,
  },
});
