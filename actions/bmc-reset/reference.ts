import { actionReference } from "../harness/input/reference.ts";

export const reference = actionReference("bmc-reset", {
  environment: { KIND: "cold", ANSWER_TIMEOUT: "5m" },
  keywords: ["bmc", "reboot", "cold-reset"],
  mostRoundTrips: { redfish: 6, ipmi: 8 },
  polls: true,
  output: {},
  result: {
    message: "BMC reset (cold), answers again after 1m 34s via redfish",
    changed: true,
    durationMs: 94870,
    roundTrips: 9,
  },
});
