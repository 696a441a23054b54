import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("sel", {
  check: {
    means: "The event log is readable, with its number of entries",
    roundTrips: { redfish: 3, ipmi: 1 },
    example: { ...ok("0 entries"), durationMs: 129 },
  },
  calls: {
    list: (sel, signal) => sel.list(signal, { sensorNames: true }),
    count: (sel, signal) => sel.count(signal),
    plan: (sel, signal) => sel.plan(signal),
    clear: (sel, signal) => sel.clear(signal),
  },
});
