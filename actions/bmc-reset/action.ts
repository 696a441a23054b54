import { describeInfo } from "../../shared/bmc/operations/manager.ts";
import { defineAction } from "../harness/action.ts";
import { choice, duration } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "bmc-reset",
  summary: "Restart a BMC, not its machine, and wait until it answers again",
  idempotent: false,
  input: {
    kind: choice(["cold", "warm"], {
      env: "KIND",
      description:
        "cold restarts the whole BMC; warm restarts only its services, on BMCs that support the difference",
      default: "cold",
    }),
    answerTimeout: duration({
      env: "ANSWER_TIMEOUT",
      description: "Time limit for the BMC to answer again after the reset",
      default: "5m",
      minMs: 1_000,
    }),
  },
  run: async ({ bmc, input, dryRun, signal, progress }) => {
    const { kind, answerTimeout } = input;
    if (dryRun) {
      const { before, steps } = await bmc.planManagerReset(kind, signal);
      return reportPlan({ before: undefined, steps }, describeInfo(before));
    }
    const sent = () => progress({ summary: `${kind} reset of the BMC sent`, changed: true });
    return bmc.resetManager(kind, answerTimeout, signal, sent);
  },
});
