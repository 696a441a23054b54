import type { PowerRequest } from "../../shared/bmc/power.ts";
import type { ActionContext, ActionReport } from "./action.ts";
import type { InputFields } from "./input.ts";

/** What the power actions share: the dry run, the change, the report. */
export async function runPower(
  { bmc, dryRun, signal }: Pick<ActionContext<InputFields>, "bmc" | "dryRun" | "signal">,
  request: PowerRequest,
): Promise<ActionReport> {
  if (dryRun) {
    const { before, steps } = await bmc.planPower(request, signal);
    return { before, changed: false, data: { wouldSend: steps }, summary: describePlan(before, steps) };
  }
  const { before, after, changed, summary } = await bmc.setPower(request, signal);
  return { before, after, changed, summary };
}

/** One line for a dry run. */
export function describePlan(before: string, steps: readonly string[]): string {
  return `dry run: now ${before}, ${steps.length === 0 ? "nothing would be sent" : `would send ${steps.join(", then ")}`}`;
}
