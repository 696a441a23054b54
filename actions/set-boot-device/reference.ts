import type { ActionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: { DEVICE: "cdrom", MODE: "uefi" },
  keywords: ["boot", "cdrom", "uefi"],
  output: {
    before: bootOverride.describe("The boot override as read; only in a dry run"),
    after: bootOverride,
  },
  result: {
    action: "set-boot-device",
    machine: "node-01",
    ok: true,
    message: "boot cdrom once (uefi) via redfish",
    provider: "redfish",
    after: { device: "cdrom", persistent: false, mode: "uefi" },
    changed: true,
    durationMs: 1037,
    roundTrips: 4,
  },
};
