import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

const policy = z
  .enum(["always-off", "always-on", "last-state"])
  .optional()
  .describe("As read; absent if the BMC does not report it");

export const reference = actionReference("set-power-restore-policy", {
  environment: { RESTORE_POLICY: "last-state" },
  keywords: ["power", "outage"],
  mostRoundTrips: { redfish: 5, ipmi: 6 },
  output: { before: policy, after: policy },
  result: {
    message: "power restore policy last-state via redfish",
    before: "always-off",
    after: "last-state",
    changed: true,
    durationMs: 301,
    roundTrips: 4,
  },
});
