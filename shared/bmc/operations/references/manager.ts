import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("manager", {
  check: {
    means: "Vendor, model and firmware were read",
    roundTrips: { redfish: 2, ipmi: 1 },
    example: { ...ok("Contoso 3500, firmware 1.2.3"), durationMs: 89 },
  },
  calls: {
    plan: (manager, signal) => manager.plan("cold", signal),
    reset: (manager, signal) => manager.reset("cold", signal),
    info: (manager, signal) => manager.info(signal),
    clockMs: (manager, signal) => manager.clockMs(signal),
    lastStart: async (manager, signal) => manager.lastStart?.(signal),
  },
});
