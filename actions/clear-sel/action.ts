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
    const counted =
      before === undefined ? "entries that cannot be listed" : count(before, "entry", "entries");
    return reportPlan({ before: undefined, steps }, `${counted} in the event log`);
  },
});
