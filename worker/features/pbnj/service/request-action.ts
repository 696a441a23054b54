import type { Action } from "../../../core/action/action.ts";
import { PBNJ_AGENT_ID } from "../../shared/source-agent-ids.ts";
import type { TaskRecord } from "./task-record.ts";

export interface ImageTerms {
  /** With `{action}` and optionally `{version}`. */
  readonly image: string;
  readonly version: string;
}

/** The action of a task, without secrets. The tenants rule of a policy finds `pbnj` as its namespace. */
export function taskAction(
  { id, subject, work, hasDirectAccess }: Pick<TaskRecord, "hasDirectAccess" | "id" | "subject" | "work">,
  { image, version }: ImageTerms,
): Action {
  const { action: name, environment, timeoutMs } = work;
  return {
    workflowId: `pbnj/${id}`,
    taskId: id,
    agentId: PBNJ_AGENT_ID,
    anyNamespace: true,
    actionId: id,
    name,
    image: image.replaceAll("{action}", name).replaceAll("{version}", version),
    timeoutMs,
    command: [],
    volumes: [],
    environment: { ...(!hasDirectAccess && { MACHINE: subject }), ...environment },
  };
}
