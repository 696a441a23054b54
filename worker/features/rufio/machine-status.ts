import type { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { PowerState } from "../../../shared/contract/vocabulary.ts";
import type { Outcome } from "../../core/action/action.ts";
import { powerSeen } from "../shared/power-seen.ts";
import { type Conditions, timeText, withCondition } from "./conditions.ts";
import type { MachineStatus } from "./rufio-api.ts";

/** The last reading of a Machine. */
export type MachineReading =
  | { readonly contactable: true; readonly power: PowerState }
  | { readonly contactable: false; readonly message: string; readonly refused: boolean };

/** From a failed read. A refused password differs from an unreachable BMC: retrying it locks the account. */
export function readingOfError(error: Pick<BmcError, "class" | "refused" | "message">): MachineReading {
  const refused = error.class === "auth" && error.refused !== "right";
  return { contactable: false, message: error.message, refused };
}

/** From the end of an action; undefined if the Machine must be read. */
export function readingOfOutcome(outcome: Outcome): MachineReading | undefined {
  const { result } = outcome;
  if (outcome.ok) {
    const power = result && powerSeen(result);
    return power === undefined ? undefined : { contactable: true, power };
  }
  // An action that never ran, for example because of its image, asked no BMC.
  const refused = outcome.class === "auth" && outcome.exitCode !== undefined && result?.refused !== "right";
  return refused ? { contactable: false, message: outcome.message, refused } : undefined;
}

const CONTACTABLE = "Contactable";

/**
 * A Machine's status as Rufio writes it: `lastUpdateTime` is the last change of the condition's status. Undefined if
 * nothing changed; durations within a message do not count.
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
