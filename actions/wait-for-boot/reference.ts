import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

const state = z.string().optional();

export const reference = actionReference("wait-for-boot", {
  environment: { STAGE_TIMEOUT: "4m" },
  keywords: ["boot", "wait", "post", "progress"],
  readsOnly: true,
  mostRoundTrips: { redfish: 3, ipmi: 7 },
  polls: true,
  output: {
    before: state.describe("The firmware's state at first, in the BMC's words; absent if it reports none"),
    after: state.describe("The state that ended the wait"),
    data: z.strictObject({
      shownBy: z
        .enum(["progress", "post-code", "override"])
        .describe(
          "What showed it: the reported state, the POST code, or the one-time boot override, which was used",
        ),
    }),
  },
  result: {
    message: "OSBootStarted after 93.2 s via redfish",
    before: "MemoryInitializationStarted",
    after: "OSBootStarted",
    changed: false,
    durationMs: 93_240,
    roundTrips: 24,
    data: { shownBy: "progress" },
  },
});
