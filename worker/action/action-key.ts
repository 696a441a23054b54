import { hash } from "node:crypto";
import type { ActionId } from "./action.ts";

/**
 * The key of one action of one workflow. It names the action's container, process and journal entry, is the same after a
 * restart, and is valid in file names and labels.
 */
export function actionKey({ workflowId, actionId }: Pick<ActionId, "workflowId" | "actionId">): string {
  return hash("sha256", `${workflowId}\0${actionId}`).slice(0, 32);
}
