import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("secureboot", {
  check: {
    means: "The state of UEFI Secure Boot was read",
    roundTrips: { redfish: 1 },
    example: { ...ok("Secure Boot off (user mode)"), durationMs: 46 },
  },
  calls: {
    read: (secureboot, signal) => secureboot.read(signal),
    plan: (secureboot, signal) => secureboot.plan(true, signal),
    write: (secureboot, signal) => secureboot.write(true, signal),
    planKeys: (secureboot, signal) => secureboot.planKeys("default", "db", signal),
    resetKeys: (secureboot, signal) => secureboot.resetKeys("default", undefined, signal),
  },
});
