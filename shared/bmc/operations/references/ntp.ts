import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const NTP = { enabled: true, servers: ["a"] };

export const reference = operationReference("ntp", {
  check: {
    means: "The time servers were read",
    roundTrips: { redfish: 1 },
    example: { ...ok("NTP off"), durationMs: 44 },
  },
  calls: {
    read: (ntp, signal) => ntp.read(signal),
    plan: (ntp, signal) => ntp.plan(NTP, signal),
    write: (ntp, signal) => ntp.write(NTP, signal),
    hasDhcp: (ntp, signal) => ntp.hasDhcp?.(signal),
  },
});
