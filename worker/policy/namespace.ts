import { type ActionId, namespaceOf } from "../action/action.ts";
import { matchesName } from "./wildcard.ts";

/** Whether an action's workflow is in one of the namespaces. */
export function isInNamespace(action: Pick<ActionId, "workflowId">, patterns: readonly string[]): boolean {
  const namespace = namespaceOf(action);
  return namespace !== undefined && patterns.some((pattern) => matchesName(pattern, namespace));
}
