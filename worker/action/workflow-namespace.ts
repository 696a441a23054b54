import type { ActionId } from "./action.ts";

/** The namespace of an action's workflow, whose ID is `namespace/name`; undefined where the ID has none. */
export function namespaceOf({ workflowId = "" }: Partial<Pick<ActionId, "workflowId">>): string | undefined {
  const slash = workflowId.indexOf("/");
  return slash > 0 ? workflowId.slice(0, slash) : undefined;
}
