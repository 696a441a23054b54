import { actionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("send-nmi", {
  keywords: ["nmi", "crash-dump", "diagnostics"],
  mostRoundTrips: { redfish: 3, ipmi: 6 },
  output: { before: powerState },
  result: {
    message: "NMI sent via redfish",
    before: "on",
    changed: true,
    durationMs: 318,
    roundTrips: 4,
  },
});
