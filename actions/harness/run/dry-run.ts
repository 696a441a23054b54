import type { Plan } from "../../../shared/bmc/operations/access.ts";
import { type BootRequest, describeOverride } from "../../../shared/bmc/operations/boot-port.ts";
import type { PowerRequest } from "../../../shared/bmc/operations/power.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { ASSUMED_POWER, DRY_RUN } from "../../../shared/contract/dry-run.ts";
import { defined } from "../../../shared/defined.ts";
import type { ActionContext, ActionReport } from "../action.ts";
import type { InputFields } from "../input/input.ts";
import type { powerInput } from "../input/machine-input.ts";

export interface DryRunData {
  /** The requests in order; empty if the machine is already in the requested state. */
  readonly wouldSend: readonly string[];
  /** The power state that the requests lead to, of an action that changes the power. */
  readonly powerThen?: "on" | "off";
}

/** Makes the report of a dry run from a plan. `now` formats the present state. */
export function reportPlan<State>({ before, steps }: Plan<State>, now: string): ActionReport<DryRunData> {
  return {
    ...defined({ before }),
    changed: false,
    data: { wouldSend: steps },
    summary: `dry run: ${describeSteps(steps, now)}`,
  };
}

/** Describes what would be sent. `now` may be empty. */
export function describeSteps(steps: readonly string[], now: string): string {
  const would = steps.length === 0 ? "nothing would be sent" : `would send ${steps.join(", then ")}`;
  return `${now === "" ? "" : `now ${now}, `}${would}`;
}

type RunContext = Pick<ActionContext<InputFields>, "bmc" | "dryRun" | "signal">;

/** Runs a boot device action: the dry run, or the change and its report. */
export async function runBoot(
  { bmc, dryRun, signal }: RunContext,
  request: BootRequest,
): Promise<ActionReport<DryRunData>> {
  if (dryRun) {
    const plan = await bmc.planBoot(request, signal);
    return reportPlan(plan, `boot ${describeOverride(plan.before)}`);
  }
  return await bmc.setBoot(request, signal);
}

/** Runs a power action: the dry run, or the change and its report. */
export async function runPower(
  { bmc, dryRun, signal, input, nameInput }: ActionContext<typeof powerInput>,
  request: PowerRequest,
): Promise<ActionReport<DryRunData>> {
  const { assumedPower } = input;
  if (!dryRun) {
    if (assumedPower === undefined) return bmc.setPower(request, signal);
    const message = `${nameInput(ASSUMED_POWER, assumedPower)} is only for a dry run (${nameInput(DRY_RUN, "true")})`;
    throw new BmcError("usage", message);
  }
  const { before, steps } = await bmc.planPower(request, signal, assumedPower);
  const isRead = assumedPower === undefined;
  return {
    ...(isRead ? { before } : {}),
    changed: false,
    data: { wouldSend: steps, powerThen: request.verb === "off" ? "off" : "on" },
    summary: `dry run: ${isRead ? "" : `if ${assumedPower}: `}${describeSteps(steps, isRead ? before : "")}`,
  };
}
