import type { ActionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["boot"],
  output: {
    before: bootOverride.describe("The boot override as read; only in a dry run"),
    after: bootOverride,
  },
  result: {
    action: "clear-boot-override",
    machine: "node-01",
    ok: true,
    message: "boot none via redfish",
    provider: "redfish",
    after: { device: "none", mode: "uefi" },
    changed: true,
    durationMs: 1081,
    roundTrips: 4,
  },
};
