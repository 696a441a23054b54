import { defineAction } from "../harness/action.ts";
import { choice } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-power-restore-policy",
  summary: "Set what a machine does when its power supply returns, and verify it",
  idempotent: true,
  input: {
    policy: choice(["always-off", "always-on", "last-state"], {
      env: "RESTORE_POLICY",
      description: "Stay off, power on, or return to the state before the outage",
      required: true,
    }),
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    if (!dryRun) return bmc.setRestorePolicy(input.policy, signal);
    const plan = await bmc.planRestorePolicy(input.policy, signal);
    return reportPlan(plan, plan.before ?? "");
  },
});
