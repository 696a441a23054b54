import { actionReference } from "../harness/input/reference.ts";

export const reference = actionReference("deactivate-sol", {
  keywords: ["sol", "serial", "console"],
  mostRoundTrips: { ipmi: 4 },
  output: {},
  result: {
    message: "SOL session ended via ipmi",
    provider: "ipmi",
    changed: true,
    durationMs: 143,
    roundTrips: 6,
  },
});
