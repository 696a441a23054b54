import type { BmcError } from "../../../shared/contract/bmc-error.ts";
import { oneLine } from "../../../shared/contract/result.ts";
import type { PowerState } from "../../../shared/contract/vocabulary.ts";
import type { Outcome } from "../../action/action.ts";
import { powerSeen } from "../../action/power-seen.ts";
import { type Condition, timeText, withCondition } from "./conditions.ts";
import type { MachineStatus } from "./objects.ts";

/** What is known of a Machine since somebody looked. */
export type MachineSeen =
  | { readonly contactable: true; readonly power: PowerState }
  | { readonly contactable: false; readonly message: string; readonly refused: boolean };

/** What a failed look says. A refused password is another thing than a BMC that is away: trying it again locks the account. */
export function seenByError(error: Pick<BmcError, "class" | "refused" | "message">): MachineSeen {
  const refused = error.class === "auth" && error.refused !== "right";
  return { contactable: false, message: oneLine(error.message), refused };
}

/** What the end of an action says of the machine; undefined where somebody has to look. */
export function seenByOutcome({
  ok,
  class: errorClass,
  exitCode,
  message,
  result,
}: Outcome): MachineSeen | undefined {
  if (ok) {
    const power = result && powerSeen(result);
    return power === undefined ? undefined : { contactable: true, power };
  }
  // What ended before it ran, as by a registry that refuses the image, asked no BMC.
  const refused = errorClass === "auth" && exitCode !== undefined && result?.refused !== "right";
  return refused ? { contactable: false, message: oneLine(message), refused } : undefined;
}

const CONTACTABLE = "Contactable";

/**
 * The status of a Machine as Rufio writes it: `lastUpdateTime` is that of the last change of the condition's status. Undefined
 * where it says all that already, so that nothing is written; how long a failure took is no news.
 */
export function machineStatus(
  { power, conditions }: MachineStatus,
  seen: MachineSeen,
  nowMs: number,
): { readonly powerState: PowerState; readonly conditions: readonly Condition[] } | undefined {
  const found = conditions.find(({ type }) => type === CONTACTABLE);
  const status = seen.contactable ? "True" : "False";
  const message = seen.contactable ? "" : seen.message;
  const powerState = seen.contactable ? seen.power : "unknown";
  const isSaid = found?.status === status && withoutTimes(found.message ?? "") === withoutTimes(message);
  if (isSaid && power === powerState) return undefined;
  const isNews = found?.status !== status;
  const lastUpdateTime = isNews ? timeText(nowMs) : found.lastUpdateTime;
  const set = withCondition(conditions, { type: CONTACTABLE, status, message });
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
