import type { ActionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["boot", "pxe"],
  readsOnly: true,
  output: { before: bootOverride, after: bootOverride, data: bootOverride },
  result: {
    action: "get-boot-device",
    machine: "node-01",
    ok: true,
    message: "boot pxe once (uefi) via redfish",
    provider: "redfish",
    before: { device: "pxe", persistent: false, mode: "uefi" },
    after: { device: "pxe", persistent: false, mode: "uefi" },
    changed: false,
    durationMs: 212,
    roundTrips: 2,
    data: { device: "pxe", persistent: false, mode: "uefi" },
  },
};
