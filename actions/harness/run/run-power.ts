import type { PowerReport, PowerRequest } from "../../../shared/bmc/operations/power.ts";
import type { ActionContext, ActionReport } from "../action.ts";
import type { InputFields } from "../input/input.ts";
import { type DryRunData, reportPlan } from "./dry-run.ts";

type PowerContext = Pick<ActionContext<InputFields>, "bmc" | "dryRun" | "signal">;

/** What the power actions share: the dry run, the change, the report. */
export async function runPower(
  { bmc, dryRun, signal }: PowerContext,
  request: PowerRequest,
): Promise<ActionReport<DryRunData>> {
  if (dryRun) {
    const plan = await bmc.planPower(request, signal);
    return reportPlan(plan, plan.before);
  }
  return reportPower(await bmc.setPower(request, signal));
}

export function reportPower({ before, after, changed, summary }: PowerReport): ActionReport<never> {
  return { before, after, changed, summary };
}
