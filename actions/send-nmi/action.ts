import { defineAction } from "../harness/action.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "send-nmi",
  summary: "Send a non-maskable interrupt, for example to make a hung system write a crash dump",
  idempotent: false,
  input: {},
  run: async ({ bmc, dryRun, signal }) => {
    if (!dryRun) return bmc.sendNmi(signal);
    const plan = await bmc.planNmi(signal);
    return reportPlan(plan, plan.before);
  },
});
