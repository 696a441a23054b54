import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("power", {
  check: {
    means: "The power is on or off; anything else is a warning",
    roundTrips: { redfish: 0, ipmi: 1 },
    example: { ...ok("on"), durationMs: 0 },
  },
  calls: {
    read: (power, signal) => power.read(signal),
    stateName: async (power) => power.stateName?.(),
    resetMark: async (power) => power.resetMark?.(),
    plan: (power, signal) => power.plan("cycle", signal),
    send: (power, signal) => power.send("off", signal),
  },
});
