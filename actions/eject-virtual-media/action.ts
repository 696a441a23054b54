import { describeMedia } from "../../shared/bmc/operations/media.ts";
import { defineAction } from "../harness/action.ts";
import { mediaDriveInput, mediaDriveOf } from "../harness/input/machine-input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "eject-virtual-media",
  summary: "Eject the image from a machine's virtual CD drive or USB stick",
  idempotent: true,
  input: mediaDriveInput,
  run: async ({ bmc, input, dryRun, signal }) => {
    const drive = mediaDriveOf(input);
    if (!dryRun) return bmc.ejectMedia(signal, drive);
    const plan = await bmc.planMedia(undefined, signal, undefined, { drive });
    return reportPlan(plan, plan.before ? describeMedia(plan.before) : "");
  },
});
