import { defineAction } from "../harness/action.ts";
import { choice } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-indicator",
  summary: "Switch a machine's identify LED on or off, and verify it",
  idempotent: true,
  input: {
    indicator: choice(["on", "off"], {
      env: "INDICATOR",
      description: "on lights the LED until it is switched off",
      default: "on",
    }),
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    const lit = input.indicator === "on";
    if (!dryRun) return bmc.setIndicator(lit, signal);
    const plan = await bmc.planIndicator(lit, signal);
    return reportPlan(plan, plan.before ?? "");
  },
});
