import { describeMedia } from "../../shared/bmc/media.ts";
import { defineAction } from "../harness/action.ts";
import { reportPlan } from "../harness/dry-run.ts";
import { mediaUrl } from "../harness/media-input.ts";

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
