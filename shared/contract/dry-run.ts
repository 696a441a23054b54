/** The variable that turns an action into a plan: it reads the state and changes nothing. */
export const DRY_RUN = "DRY_RUN";
/** The variable with the power state for which an action plans, instead of the present one. */
export const ASSUMED_POWER = "ASSUMED_POWER";

/** Whether the variable requests a plan. An invalid value counts as yes, because a mistake must not change a machine. */
export function isDryRun(env: Readonly<Record<string, string | undefined>>): boolean {
  return !["", "false", "0", "no", "off"].includes((env[DRY_RUN] ?? "").trim().toLowerCase());
}
