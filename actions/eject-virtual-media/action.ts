import { describeMedia } from "../../shared/bmc/operations/media.ts";
import { defineAction } from "../harness/action.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "eject-virtual-media",
  summary: "Eject the image from a machine's virtual CD drive",
  idempotent: true,
  input: {},
  run: async ({ bmc, dryRun, signal }) => {
    if (!dryRun) return bmc.ejectMedia(signal);
    const plan = await bmc.planMedia(undefined, signal);
    return reportPlan(plan, plan.before ? describeMedia(plan.before) : "");
  },
});
