import { actionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("power-cycle", {
  environment: { OFF_DURATION: "5s" },
  keywords: ["power", "cycle", "restart"],
  mostRoundTrips: { redfish: 8, ipmi: 11 },
  polls: true,
  output: { before: powerState, after: powerState },
  result: {
    message: "cycled in 12.9 s (off for 5.0 s, then on) via redfish",
    before: "on",
    after: "on",
    changed: true,
    durationMs: 12918,
    roundTrips: 14,
  },
});
