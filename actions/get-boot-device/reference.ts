import { actionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference = actionReference("get-boot-device", {
  keywords: ["boot", "pxe"],
  readsOnly: true,
  mostRoundTrips: { redfish: 2, ipmi: 4 },
  output: { before: bootOverride, after: bootOverride, data: bootOverride },
  result: {
    message: "boot pxe once (uefi) via redfish",
    before: { device: "pxe", persistent: false, mode: "uefi" },
    after: { device: "pxe", persistent: false, mode: "uefi" },
    changed: false,
    durationMs: 212,
    roundTrips: 2,
    data: { device: "pxe", persistent: false, mode: "uefi" },
  },
});
