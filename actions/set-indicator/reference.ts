import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

const state = z
  .enum(["on", "timed", "off"])
  .optional()
  .describe("As read; timed is on for some seconds. Absent if the BMC does not report it");

export const reference = actionReference("set-indicator", {
  environment: { INDICATOR: "on" },
  keywords: ["identify", "led", "locate"],
  mostRoundTrips: { redfish: 5, ipmi: 6 },
  output: { before: state, after: state },
  result: {
    message: "identify LED on via redfish",
    before: "off",
    after: "on",
    changed: true,
    durationMs: 298,
    roundTrips: 4,
  },
});
