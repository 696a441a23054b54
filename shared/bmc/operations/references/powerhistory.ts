import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("powerhistory", {
  check: {
    means: "What the BMC reports of the last restart without its logs was read",
    roundTrips: { redfish: 1, ipmi: 1 },
    example: { ...ok("only the logs may tell of the last restart"), durationMs: 45 },
  },
  calls: {
    facts: (history, signal) => history.facts(signal),
    events: (history, signal) =>
      history.events({ resetMs: undefined, windowMs: 0, sensorNames: true }, signal),
  },
});
