import { actionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("power-on", {
  keywords: ["power", "start"],
  mostRoundTrips: { redfish: 4, ipmi: 6 },
  polls: true,
  output: { before: powerState, after: powerState },
  result: {
    message: "on after 12.0 s via redfish",
    before: "off",
    after: "on",
    changed: true,
    durationMs: 12037,
    roundTrips: 10,
  },
});
