import { createHash } from "node:crypto";
import type { ActionId } from "./action.ts";

/**
 * One text for one action of one workflow, which names its container, its journal entry and its process: the
 * same after a restart, and fit for file names and labels.
 */
export function actionKey({ workflowId, actionId }: Pick<ActionId, "workflowId" | "actionId">): string {
  return createHash("sha256").update(`${workflowId}\0${actionId}`).digest("hex").slice(0, 32);
}
