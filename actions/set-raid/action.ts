import * as z from "zod/mini";
import { describeVolumes } from "../../shared/bmc/operations/raid.ts";
import type { WantedVolume } from "../../shared/bmc/operations/raid-plan.ts";
import { defined } from "../../shared/defined.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import type { InputField } from "../harness/input/input.ts";
import { limitsOf, raidInput } from "../harness/input/raid-input.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";
import { parseVolumes } from "./parse-volumes.ts";

const raidVolumes = z.pipe(
  z.string(),
  z.transform((text: string, context): readonly WantedVolume[] => {
    const { volumes, problems } = parseVolumes(text);
    if (problems.length > 0)
      context.issues.push({ code: "custom", message: problems.join("; "), input: text });
    return volumes;
  }),
);

export default defineAction({
  name: "set-raid",
  summary: "Create RAID volumes that do not exist yet, and verify them",
  idempotent: true,
  input: {
    volumes: {
      env: "RAID_VOLUMES",
      type: "text",
      description:
        "NAME LEVEL drives=NUMBER or IDs [size=200GB] [media=SSD] [min=400GB]; one per line or semicolon",
      required: true,
      schema: raidVolumes,
    } satisfies InputField<readonly WantedVolume[]>,
    ...raidInput,
  },
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
      const plan = await bmc.planRaid(request, signal);
      return reportPlan(plan, describeVolumes(plan.before));
    }
    const onSent = () => progress({ summary: "creation of volumes sent", changed: true });
    const { pending, ...report } = await bmc.setRaid(request, limitsOf(input), signal, onSent);
    return { ...report, data: { pending } };
  },
});
