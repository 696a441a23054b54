import type { Plan } from "../../../shared/bmc/operations/access.ts";
import { defined } from "../../../shared/defined.ts";
import type { ActionReport } from "../action.ts";

export interface DryRunData {
  /** In order; empty when it is so already. */
  readonly wouldSend: readonly string[];
}

/** What an action says of a plan in place of carrying it out; `now` is the present state for people. */
export function reportPlan<State>({ before, steps }: Plan<State>, now: string): ActionReport<DryRunData> {
  return {
    ...defined({ before }),
    changed: false,
    data: { wouldSend: steps },
    summary: `dry run: ${describeSteps(steps, now)}`,
  };
}

/** What would be sent, for people; `now` may be empty. */
export function describeSteps(steps: readonly string[], now: string): string {
  const would = steps.length === 0 ? "nothing would be sent" : `would send ${steps.join(", then ")}`;
  return `${now === "" ? "" : `now ${now}, `}${would}`;
}
