import { actionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("power-off", {
  environment: { MODE: "soft-then-hard", SOFT_TIMEOUT: "60s" },
  keywords: ["power", "shutdown"],
  mostRoundTrips: { redfish: 6, ipmi: 8 },
  polls: true,
  output: { before: powerState, after: powerState },
  result: {
    message: "off after 6.2 s (graceful) via redfish",
    before: "on",
    after: "off",
    changed: true,
    durationMs: 6204,
    roundTrips: 8,
  },
});
