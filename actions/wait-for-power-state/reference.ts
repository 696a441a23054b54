import type { ActionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: { STATE: "off", STATE_TIMEOUT: "4m" },
  keywords: ["power", "wait", "shutdown"],
  readsOnly: true,
  output: { before: powerState, after: powerState },
  result: {
    action: "wait-for-power-state",
    machine: "node-01",
    ok: true,
    message: "off after 15.2 s via redfish",
    provider: "redfish",
    before: "on",
    after: "off",
    changed: false,
    durationMs: 15156,
    roundTrips: 13,
  },
};
