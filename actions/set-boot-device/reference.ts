import { actionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference = actionReference("set-boot-device", {
  environment: { DEVICE: "cdrom", MODE: "uefi" },
  keywords: ["boot", "cdrom", "uefi"],
  mostRoundTrips: { redfish: 4, ipmi: 5 },
  output: {
    before: bootOverride.describe("The boot override as read; only in a dry run"),
    after: bootOverride,
  },
  result: {
    message: "boot cdrom once (uefi) via redfish",
    after: { device: "cdrom", persistent: false, mode: "uefi" },
    changed: true,
    durationMs: 1037,
    roundTrips: 4,
  },
});
