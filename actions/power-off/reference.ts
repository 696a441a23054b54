import type { ActionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: { MODE: "soft-then-hard", SOFT_TIMEOUT: "60s" },
  keywords: ["power", "shutdown"],
  output: { before: powerState, after: powerState },
  result: {
    action: "power-off",
    machine: "node-01",
    ok: true,
    message: "off after 6.2 s (graceful) via redfish",
    provider: "redfish",
    before: "on",
    after: "off",
    changed: true,
    durationMs: 6204,
    roundTrips: 8,
  },
};
