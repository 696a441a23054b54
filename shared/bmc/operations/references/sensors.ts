import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("sensors", {
  check: {
    means: "The BMC lists sensors; the action reads none",
    roundTrips: { redfish: 1, ipmi: 1 },
    example: { ...ok("offered"), durationMs: 45 },
  },
  calls: {
    offered: (sensors, signal) => sensors.offered(signal),
    read: (sensors, signal) => sensors.read(signal),
  },
});
