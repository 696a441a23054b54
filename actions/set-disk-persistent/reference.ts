import { actionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference = actionReference("set-disk-persistent", {
  keywords: ["boot", "disk"],
  mostRoundTrips: { redfish: 4, ipmi: 6 },
  output: {
    before: bootOverride.describe("The boot override as read; only in a dry run"),
    after: bootOverride,
  },
  result: {
    message: "boot disk persistent (uefi) via redfish",
    after: { device: "disk", persistent: true, mode: "uefi" },
    changed: true,
    durationMs: 1111,
    roundTrips: 4,
  },
});
