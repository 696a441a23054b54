import type { ActionId } from "../action/action.ts";
import { actionKey } from "../action/action-key.ts";

const NAME_SLUG_LENGTH = 40;

/**
 * The name that an action's container or Job always has, so that a second launch of the same action collides with the first.
 * 63 characters at most, as host names and labels that are made of it: letters, digits and hyphens.
 */
export function launchName(action: ActionId): string {
  const slug = action.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, NAME_SLUG_LENGTH)
    .replace(/^-+|-+$/g, "");
  return `pbnj-${slug || "action"}-${actionKey(action).slice(0, 16)}`;
}
