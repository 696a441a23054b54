import { hash } from "node:crypto";
import type { ActionId } from "./action.ts";

/**
 * One text for one action of one workflow, which names its container, its journal entry and its process: the
 * same after a restart, and fit for file names and labels.
 */
export function actionKey({ workflowId, actionId }: Pick<ActionId, "workflowId" | "actionId">): string {
  return hash("sha256", `${workflowId}\0${actionId}`).slice(0, 32);
}
