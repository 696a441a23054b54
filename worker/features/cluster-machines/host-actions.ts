import { parseImageReference } from "../../../shared/contract/image-reference.ts";

/** Actions that change a machine's power and nothing else, with the `spec.online` that agrees with their end. */
const CHANGES: Readonly<Record<string, boolean>> = {
  "power-on": true,
  "power-off": false,
  "power-cycle": true,
  "power-reset": true,
};
const READS = ["power-status", "wait-for-power-state"] as const;

/** Actions that go through a BareMetalHost instead of its BMC. */
export const POWER_ACTIONS: readonly string[] = [...Object.keys(CHANGES), ...READS];

/** The action's name, by its image. */
export function actionOf(image: string | undefined): string | undefined {
  return image === undefined ? undefined : parseImageReference(image)?.name;
}

export function isPowerAction(image: string | undefined): boolean {
  return POWER_ACTIONS.includes(actionOf(image) ?? "");
}

/** The `spec.online` with which the action's result lasts; undefined for an action that leaves the power alone. */
export function onlineAfter(image: string | undefined): boolean | undefined {
  const name = actionOf(image) ?? "";
  return Object.hasOwn(CHANGES, name) ? CHANGES[name] : undefined;
}
