import type { BootRequest } from "../../../shared/bmc/operations/boot.ts";
import { describeOverride } from "../../../shared/bmc/operations/boot.ts";
import type { ActionContext, ActionReport } from "../action.ts";
import type { InputFields } from "../input/input.ts";
import { type DryRunData, reportPlan } from "./dry-run.ts";

/** What the boot device actions share: the dry run, the change, the report. */
export async function runBoot(
  { bmc, dryRun, signal }: Pick<ActionContext<InputFields>, "bmc" | "dryRun" | "signal">,
  request: BootRequest,
): Promise<ActionReport<DryRunData>> {
  if (dryRun) {
    const plan = await bmc.planBoot(request, signal);
    return reportPlan(plan, `boot ${describeOverride(plan.before)}`);
  }
  return await bmc.setBoot(request, signal);
}
