import { actionReference } from "../harness/input/reference.ts";

export const reference = actionReference("clear-sel", {
  keywords: ["sel", "event-log"],
  mostRoundTrips: { redfish: 6, ipmi: 4 },
  output: {},
  result: {
    message: "event log cleared of 87 entries via redfish",
    changed: true,
    durationMs: 1290,
    roundTrips: 7,
  },
});
