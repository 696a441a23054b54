import { describeMedia } from "../../shared/bmc/operations/media.ts";
import { defineAction } from "../harness/action.ts";
import { checkMedia, mediaInput, mediaOptionsOf } from "../harness/input/machine-input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "insert-virtual-media",
  summary: "Insert an image into a machine's virtual CD drive or USB stick, and verify it",
  idempotent: true,
  input: mediaInput,
  check: checkMedia,
  run: async ({ bmc, input, dryRun, signal }) => {
    const options = mediaOptionsOf(input);
    if (!dryRun) return bmc.insertMedia(input.mediaUrl, signal, options);
    const plan = await bmc.planMedia(input.mediaUrl, signal, undefined, options);
    return reportPlan(plan, plan.before ? describeMedia(plan.before) : "");
  },
});
