import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("restore", {
  check: {
    means: "The power restore policy was read",
    roundTrips: { redfish: 1, ipmi: 1 },
    example: { ...ok("always-off"), durationMs: 44 },
  },
  calls: {
    read: (restore, signal) => restore.read(signal),
    plan: (restore, signal) => restore.plan("always-on", signal),
    write: (restore, signal) => restore.write("always-on", signal),
  },
});
