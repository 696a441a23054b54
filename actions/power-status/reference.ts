import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("power-status", {
  keywords: ["power", "state"],
  readsOnly: true,
  mostRoundTrips: { redfish: 2, ipmi: 4 },
  output: { before: powerState, after: powerState, data: z.strictObject({ power: powerState }) },
  result: {
    message: "on via redfish",
    before: "on",
    after: "on",
    changed: false,
    durationMs: 894,
    roundTrips: 2,
    data: { power: "on" },
  },
});
