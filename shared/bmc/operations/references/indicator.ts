import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("indicator", {
  check: {
    means: "The identify LED was read",
    roundTrips: { redfish: 1, ipmi: 1 },
    example: { ...ok("off"), durationMs: 46 },
  },
  calls: {
    read: (indicator, signal) => indicator.read(signal),
    plan: (indicator, signal) => indicator.plan(true, signal),
    write: (indicator, signal) => indicator.write(true, signal),
  },
});
