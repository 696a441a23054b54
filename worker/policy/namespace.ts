import type { ActionId } from "../action.ts";
import { matchesName } from "./wildcard.ts";

/** The namespace of an action's workflow, which is named `namespace/name`; undefined where the name has none. */
export function namespaceOf({ workflowId }: Pick<ActionId, "workflowId">): string | undefined {
  const slash = workflowId.indexOf("/");
  return slash > 0 ? workflowId.slice(0, slash) : undefined;
}

/** Whether an action's workflow is in one of the namespaces. */
export function isInNamespace(action: Pick<ActionId, "workflowId">, patterns: readonly string[]): boolean {
  const namespace = namespaceOf(action);
  return namespace !== undefined && patterns.some((pattern) => matchesName(pattern, namespace));
}
