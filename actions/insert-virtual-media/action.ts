import { describeMedia } from "../../shared/bmc/operations/media.ts";
import { defineAction } from "../harness/action.ts";
import { mediaUrl } from "../harness/input/machine-input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "insert-virtual-media",
  summary: "Insert an image into a machine's virtual CD drive, and verify it",
  idempotent: true,
  input: { mediaUrl },
  run: async ({ bmc, input, dryRun, signal }) => {
    if (!dryRun) return bmc.insertMedia(input.mediaUrl, signal);
    const plan = await bmc.planMedia(input.mediaUrl, signal);
    return reportPlan(plan, plan.before ? describeMedia(plan.before) : "");
  },
});
