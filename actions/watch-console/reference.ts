import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

export const reference = actionReference("watch-console", {
  environment: { UNTIL: "iPXE initialising", FAIL_ON: "No bootable device", UNTIL_TIMEOUT: "4m" },
  keywords: ["sol", "serial", "console", "boot", "wait"],
  mostRoundTrips: { redfish: 2, ipmi: 7 },
  output: {
    data: z.strictObject({
      pattern: z.string().describe("The pattern that a line matched"),
      line: z
        .string()
        .describe("That line, without control characters and known secrets; at most 1,000 characters"),
      lines: z.int().describe("How many lines came until then"),
    }),
  },
  result: {
    message: 'console matched "iPXE initialising" after 41.7 s: iPXE initialising devices... via ipmi',
    provider: "ipmi",
    changed: false,
    durationMs: 41_980,
    roundTrips: 10,
    data: { pattern: "iPXE initialising", line: "iPXE initialising devices...", lines: 57 },
  },
});
