import { operationReference } from "../reference.ts";

export const reference = operationReference("sol", {
  check: {
    means: "The BMC supports serial over LAN",
    roundTrips: { ipmi: 1 },
  },
  calls: {
    offered: (sol, signal) => sol.offered(signal),
    active: (sol, signal) => sol.active(signal),
    deactivate: (sol, signal) => sol.deactivate(signal),
  },
});
