import type { ActionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["power", "start"],
  output: { before: powerState, after: powerState },
  result: {
    action: "power-on",
    machine: "node-01",
    ok: true,
    message: "on after 12.0 s via redfish",
    provider: "redfish",
    before: "off",
    after: "on",
    changed: true,
    durationMs: 12037,
    roundTrips: 10,
  },
};
