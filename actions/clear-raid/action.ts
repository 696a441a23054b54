import { describeVolumes } from "../../shared/bmc/operations/raid.ts";
import { defined } from "../../shared/defined.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { list } from "../harness/input/input.ts";
import { limitsOf, raidInput } from "../harness/input/raid-input.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";

const VOLUMES = "VOLUMES";

export default defineAction({
  name: "clear-raid",
  summary: "Delete the named RAID volumes and their data, and verify it",
  idempotent: true,
  input: {
    volumes: list({
      env: VOLUMES,
      description: "Names or IDs of the volumes to delete, separated by commas; * is not allowed",
      required: true,
      pattern: /^[^*\p{Cc}\p{Cf}]{1,200}$/u,
      expected: "must hold only names or IDs of volumes, without *",
    }),
    ...raidInput,
  },
  check: ({ volumes }, nameInput) => (volumes.length === 0 ? [`${nameInput(VOLUMES)} names no volume`] : []),
  run: async ({
    bmc,
    input,
    dryRun,
    signal,
    progress,
  }): Promise<ActionReport<DryRunData | { readonly pending: boolean }>> => {
    const { volumes, controller, applyTime } = input;
    const request = { volumes, ...defined({ controller, applyTime }) };
    if (dryRun) {
      const plan = await bmc.planRaidClear(request, signal);
      return reportPlan(plan, describeVolumes(plan.before));
    }
    const onSent = () => progress({ summary: "deletion of volumes sent", changed: true });
    const { pending, ...report } = await bmc.clearRaid(request, limitsOf(input), signal, onSent);
    return { ...report, data: { pending } };
  },
});
