import { type ActionId, actionKey } from "../core/action/action.ts";

const NAME_SLUG_LENGTH = 40;

/**
 * The name of an action's container or Job, so that a second launch of the same action conflicts with the first. At
 * most 63 letters, digits and hyphens, so that it can be a host name and a label.
 */
export function launchName(action: ActionId): string {
  const slug = action.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, NAME_SLUG_LENGTH)
    .replace(/^-+|-+$/g, "");
  return `pbnj-${slug || "action"}-${actionKey(action).slice(0, 16)}`;
}
