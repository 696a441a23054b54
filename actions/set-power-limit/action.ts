import { describePowerLimit } from "../../shared/bmc/operations/powerlimit.ts";
import { defineAction } from "../harness/action.ts";
import { text } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-power-limit",
  summary: "Limit the power that a machine draws, or remove the limit, and verify it",
  idempotent: true,
  input: {
    limit: text({
      env: "POWER_LIMIT",
      description: "Watts, or none",
      required: true,
      pattern: /^([1-9]\d{0,4}|none)$/,
      expected: "is not a number of watts or none",
    }),
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    const watts = input.limit === "none" ? undefined : Number(input.limit);
    if (!dryRun) return bmc.setPowerLimit(watts, signal);
    const plan = await bmc.planPowerLimit(watts, signal);
    return reportPlan(plan, describePowerLimit(plan.before));
  },
});
