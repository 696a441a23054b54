import { actionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("wait-for-power-state", {
  environment: { STATE: "off", STATE_TIMEOUT: "4m" },
  keywords: ["power", "wait", "shutdown"],
  readsOnly: true,
  mostRoundTrips: { redfish: 4, ipmi: 6 },
  polls: true,
  output: { before: powerState, after: powerState },
  result: {
    message: "off after 15.2 s via redfish",
    before: "on",
    after: "off",
    changed: false,
    durationMs: 15156,
    roundTrips: 13,
  },
});
