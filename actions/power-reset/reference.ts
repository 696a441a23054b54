import { actionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("power-reset", {
  environment: { ON_IF_OFF: "true" },
  keywords: ["power", "reset", "reboot", "restart"],
  mostRoundTrips: { redfish: 4, ipmi: 7 },
  output: { before: powerState, after: powerState },
  result: {
    message: "reset, on after 1.0 s via redfish",
    before: "on",
    after: "on",
    changed: true,
    durationMs: 1055,
    roundTrips: 4,
  },
});
