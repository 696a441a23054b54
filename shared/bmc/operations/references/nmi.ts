import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("nmi", {
  check: {
    means: "The BMC lists the NMI; IPMI cannot tell without sending one",
    roundTrips: { redfish: 0, ipmi: 0 },
    example: { ...ok("offered"), durationMs: 0 },
  },
  calls: {
    offered: (nmi, signal) => nmi.offered(signal),
    plan: (nmi, signal) => nmi.plan(signal),
    send: (nmi, signal) => nmi.send(signal),
  },
});
