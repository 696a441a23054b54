import type { ActionId } from "../../action/action.ts";
import { actionKey } from "../../action/action-key.ts";
import { bootTimeIn, bootTimeText } from "../../action/boot-time.ts";

const LABEL_VALUE = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

export const MANAGED_BY = { "app.kubernetes.io/managed-by": "pbnj-worker" } as const;

/** What every Job bears, and its pod: labels where the value can be one, else annotations. */
export const LABEL = {
  key: "pbnj-worker/key",
  /** The ID of the state directory of the worker that launched it, or its share group. */
  owner: "pbnj-worker/owner",
  /** The process that launched it. */
  instance: "pbnj-worker/instance",
  /** Of this creation alone: whose answer got lost is known by it. */
  launch: "pbnj-worker/launch",
  deadline: "pbnj-worker/deadline",
  deadlineBootTime: "pbnj-worker/deadline-boot-time",
  workflow: "pbnj-worker/workflow",
  task: "pbnj-worker/task",
  agent: "pbnj-worker/agent",
  action: "pbnj-worker/action",
  actionName: "pbnj-worker/action-name",
  /** The name of the Secret that was made for it. */
  secret: "pbnj-worker/secret",
} as const;

/** What is written on a Job later on. */
export const ANNOTATION = {
  /** Why the worker ended it, as `StopCause` has it, before it does so. */
  stopped: "pbnj-worker/stopped",
  /** Why it never started. */
  reason: "pbnj-worker/reason",
  /** When its final report was acknowledged, ISO 8601. */
  acknowledged: "pbnj-worker/acknowledged",
  /** The exit code of its action, for when its pod is gone. */
  exitCode: "pbnj-worker/exit-code",
} as const;

/** The part of the pod template's annotations that becomes the connection file. */
export const CONNECTION_ANNOTATION = "pbnj-worker/connection";

/** What selects all that workers make. */
export const SELECTOR = `app.kubernetes.io/managed-by=${MANAGED_BY["app.kubernetes.io/managed-by"]},${LABEL.key}`;

export interface JobMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Whose it is, for a Job of this action; `overMs` from now its time is over. */
export function jobMetadata(
  action: ActionId,
  worker: { readonly owner: string; readonly instance: string; readonly launch: string },
  overMs: number,
  nowMs: number,
): JobMetadata {
  const deadlineBootTime = bootTimeIn(overMs);
  const values: Record<string, string> = {
    [LABEL.key]: actionKey(action),
    [LABEL.owner]: worker.owner,
    [LABEL.instance]: worker.instance,
    [LABEL.launch]: worker.launch,
    [LABEL.deadline]: new Date(nowMs + overMs).toISOString(),
    ...(deadlineBootTime && { [LABEL.deadlineBootTime]: bootTimeText(deadlineBootTime) }),
    [LABEL.workflow]: action.workflowId,
    [LABEL.task]: action.taskId,
    [LABEL.agent]: action.agentId,
    [LABEL.action]: action.actionId,
    [LABEL.actionName]: action.name,
  };
  const isLabel = ([, value]: [string, string]) => LABEL_VALUE.test(value);
  const entries = Object.entries(values);
  return {
    labels: { ...MANAGED_BY, ...Object.fromEntries(entries.filter(isLabel)) },
    annotations: Object.fromEntries(entries.filter((entry) => !isLabel(entry))),
  };
}

/**
 * Whether something with these labels was made for that very action. Whose worker made it does not matter: the agent ID is
 * the worker's identity towards the server, and outlives a lost state directory.
 */
export function isJobOf(action: ActionId, labels: Readonly<Record<string, string>>): boolean {
  return (
    labels[LABEL.key] === actionKey(action) &&
    labels[LABEL.workflow] === action.workflowId &&
    labels[LABEL.agent] === action.agentId &&
    labels[LABEL.action] === action.actionId
  );
}
