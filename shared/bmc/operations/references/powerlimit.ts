import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("powerlimit", {
  check: {
    means: "The power limit was read",
    roundTrips: { redfish: 2, ipmi: 2 },
    example: { ...ok("no power limit"), durationMs: 91 },
  },
  calls: {
    read: (powerlimit, signal) => powerlimit.read(signal),
    plan: (powerlimit, signal) => powerlimit.plan(400, signal),
    write: (powerlimit, signal) => powerlimit.write(400, signal),
  },
});
