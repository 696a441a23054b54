import { parseImageReference } from "../../../shared/contract/image-reference.ts";

/** The actions that change only a machine's power, with the value of `spec.online` that agrees with their result. */
const CHANGES: Readonly<Record<string, boolean>> = {
  "power-on": true,
  "power-off": false,
  "power-cycle": true,
  "power-reset": true,
};
const READS = ["power-status", "wait-for-power-state"] as const;

/** The actions that can go through a BareMetalHost instead of its BMC. */
export const POWER_ACTIONS: readonly string[] = [...Object.keys(CHANGES), ...READS];

/** The name of the action in an image reference. */
export function actionOf(image: string | undefined): string | undefined {
  return image === undefined ? undefined : parseImageReference(image)?.name;
}

export function isPowerAction(image: string | undefined): boolean {
  return POWER_ACTIONS.includes(actionOf(image) ?? "");
}

/** The value of `spec.online` that an action's result needs to last; undefined for an action that does not change the power. */
export function onlineAfter(image: string | undefined): boolean | undefined {
  const name = actionOf(image) ?? "";
  return Object.hasOwn(CHANGES, name) ? CHANGES[name] : undefined;
}
