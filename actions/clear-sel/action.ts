import { count } from "../../shared/count.ts";
import { defineAction } from "../harness/action.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "clear-sel",
  summary: "Clear a machine's system event log",
  idempotent: true,
  input: {},
  run: async ({ bmc, dryRun, signal }) => {
    if (!dryRun) return bmc.clearSel(signal);
    const { before, steps } = await bmc.planClearSel(signal);
    return reportPlan({ before: undefined, steps }, `${count(before, "entry", "entries")} in the event log`);
  },
});
