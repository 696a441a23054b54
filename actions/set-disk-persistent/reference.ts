import type { ActionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["boot", "disk"],
  output: {
    before: bootOverride.describe("The boot override as read; only in a dry run"),
    after: bootOverride,
  },
  result: {
    action: "set-disk-persistent",
    machine: "node-01",
    ok: true,
    message: "boot disk persistent (uefi) via redfish",
    provider: "redfish",
    after: { device: "disk", persistent: true, mode: "uefi" },
    changed: true,
    durationMs: 1111,
    roundTrips: 4,
  },
};
