import { unsupported } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("screenshot", {
  check: {
    means: "The BMC lists screenshots; the action takes none",
    roundTrips: { redfish: 0 },
    example: { ...unsupported("the BMC offers no screenshot"), durationMs: 0 },
  },
  calls: {
    offered: (screenshot, signal) => screenshot.offered(signal),
    plan: (screenshot, signal) => screenshot.plan(signal),
    take: (screenshot, signal) => screenshot.take(signal),
  },
});
