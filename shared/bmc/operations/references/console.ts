import { unsupported } from "../finding.ts";
import { operationReference } from "../reference.ts";

const SINK = { opened: () => undefined, output: () => undefined, gap: () => undefined };

export const reference = operationReference("console", {
  check: {
    means: "The BMC supports serial over LAN, or lists a serial console over SSH; the action opens none",
    roundTrips: { redfish: 0, ipmi: 1 },
    example: { ...unsupported("the BMC lists no serial console over SSH"), durationMs: 1 },
  },
  calls: {
    offered: (console, signal) => console.offered(signal),
    holder: (console, signal) => console.holder(signal),
    plan: (console) => console.plan(true),
    takeOver: (console, signal) => console.takeOver(signal),
    watch: (console, signal) => console.watch(SINK, AbortSignal.abort(), signal),
  },
});
