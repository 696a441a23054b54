import type { ActionId } from "./action.ts";

/** The namespace in a workflow ID `namespace/name`; undefined if it has none. */
export function namespaceOf({ workflowId = "" }: Partial<Pick<ActionId, "workflowId">>): string | undefined {
  const slash = workflowId.indexOf("/");
  return slash > 0 ? workflowId.slice(0, slash) : undefined;
}
