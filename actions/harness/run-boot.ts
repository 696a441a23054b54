import { describeOverride } from "../../shared/bmc/boot.ts";
import type { BootRequest } from "../../shared/bmc/provider.ts";
import type { ActionContext, ActionReport } from "./action.ts";
import type { InputFields } from "./input.ts";
import { describePlan } from "./run-power.ts";

/** What the boot device actions share: the dry run, the change, the report. */
export async function runBoot(
  { bmc, dryRun, signal }: Pick<ActionContext<InputFields>, "bmc" | "dryRun" | "signal">,
  request: BootRequest,
): Promise<ActionReport> {
  if (dryRun) {
    const { before, steps } = await bmc.planBoot(request, signal);
    return {
      before,
      changed: false,
      data: { wouldSend: steps },
      summary: describePlan(`boot ${describeOverride(before)}`, steps),
    };
  }
  return await bmc.setBoot(request, signal);
}
