import type { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { PowerState } from "../../../shared/contract/vocabulary.ts";
import type { Outcome } from "../../core/action/action.ts";
import { powerSeen } from "../shared/power-seen.ts";
import { type Conditions, timeText, withCondition } from "./conditions.ts";
import type { MachineStatus } from "./rufio-api.ts";

/** What the last read of a Machine found. */
export type MachineReading =
  | { readonly contactable: true; readonly power: PowerState }
  | { readonly contactable: false; readonly message: string; readonly refused: boolean };

/** The reading for a failed read. Marks a refused password, because retrying one may lock the account. */
export function readingOfError(error: BmcError): MachineReading {
  const refused = error.class === "auth" && error.refused !== "right";
  return { contactable: false, message: error.message, refused };
}

/** The reading for an action that ended; undefined if the action does not show the Machine's state. */
export function readingOfOutcome(outcome: Outcome): MachineReading | undefined {
  const { result } = outcome;
  if (outcome.ok) {
    const power = result && powerSeen(result);
    return power === undefined ? undefined : { contactable: true, power };
  }
  // An action that never ran, for example because its image was missing, did not contact the BMC.
  const refused = outcome.class === "auth" && outcome.exitCode !== undefined && result?.refused !== "right";
  return refused ? { contactable: false, message: outcome.message, refused } : undefined;
}

const CONTACTABLE = "Contactable";

/**
 * The status to write to a Machine, in Rufio's form: `lastUpdateTime` is when the condition's status last changed. Undefined
 * if nothing has changed; durations and times in a message do not count.
 */
export function machineStatus(
  { powerState: before, conditions }: MachineStatus,
  seen: MachineReading,
  nowMs: number,
): { readonly powerState: PowerState; readonly conditions: Conditions } | undefined {
  const found = conditions.find(({ type }) => type === CONTACTABLE);
  const status = seen.contactable ? "True" : "False";
  const message = seen.contactable ? "" : seen.message;
  const powerState = seen.contactable ? seen.power : "unknown";
  const isSaid = found?.status === status && withoutTimes(found.message ?? "") === withoutTimes(message);
  if (isSaid && before === powerState) return undefined;
  const lastUpdateTime = found?.status === status ? found.lastUpdateTime : timeText(nowMs);
  const set = withCondition(conditions, CONTACTABLE, status, message);
  return {
    powerState,
    conditions: set.map((condition) =>
      condition.type === CONTACTABLE && lastUpdateTime ? { ...condition, lastUpdateTime } : condition,
    ),
  };
}

function withoutTimes(message: string): string {
  return message
    .replace(/(?<!\d)\d+(\.\d+)? ?(ms|s|min|m|h)\b/g, "…")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…");
}
