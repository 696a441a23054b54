import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

const watts = z.number().optional();

const limit = z
  .strictObject({
    watts: watts.describe("The limit; absent if there is none"),
    consumedWatts: watts.describe("What the machine draws now; absent if the BMC does not report it"),
    minWatts: watts.describe("The lowest limit that the BMC takes; absent if it does not report it"),
    maxWatts: watts.describe("The highest"),
  })
  .describe("The power limit as read");

export const reference = actionReference("set-power-limit", {
  environment: { POWER_LIMIT: "400" },
  keywords: ["power", "energy", "cap"],
  mostRoundTrips: { redfish: 9, ipmi: 10 },
  output: { before: limit, after: limit },
  result: {
    message: "power limit 400 W via redfish",
    before: { consumedWatts: 312 },
    after: { watts: 400, consumedWatts: 312 },
    changed: true,
    durationMs: 512,
    roundTrips: 8,
  },
});
