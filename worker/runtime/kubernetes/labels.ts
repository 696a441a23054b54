import type { ActionId } from "../../action/action.ts";
import { actionKey } from "../../action/action-key.ts";
import { bootTimeIn, bootTimeText } from "../../action/boot-time.ts";

const LABEL_VALUE = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

export const MANAGED_BY = { "app.kubernetes.io/managed-by": "pbnj-worker" } as const;

/** What every Job bears, and its pod: labels where the value can be one, else annotations. */
export const MARK = {
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
export const NOTE = {
  /** Why the worker ended it, as `StopNote` has it, before it does so. */
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
export const SELECTOR = `app.kubernetes.io/managed-by=${MANAGED_BY["app.kubernetes.io/managed-by"]},${MARK.key}`;

export interface Marks {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Whose it is, for a Job of this action; `overMs` from now its time is over. */
export function marksOf(
  action: ActionId,
  worker: { readonly owner: string; readonly instance: string; readonly launch: string },
  overMs: number,
  nowMs: number,
): Marks {
  const deadlineBootTime = bootTimeIn(overMs);
  const values: Record<string, string> = {
    [MARK.key]: actionKey(action),
    [MARK.owner]: worker.owner,
    [MARK.instance]: worker.instance,
    [MARK.launch]: worker.launch,
    [MARK.deadline]: new Date(nowMs + overMs).toISOString(),
    ...(deadlineBootTime && { [MARK.deadlineBootTime]: bootTimeText(deadlineBootTime) }),
    [MARK.workflow]: action.workflowId,
    [MARK.task]: action.taskId,
    [MARK.agent]: action.agentId,
    [MARK.action]: action.actionId,
    [MARK.actionName]: action.name,
  };
  const isLabel = ([, value]: [string, string]) => LABEL_VALUE.test(value);
  const entries = Object.entries(values);
  return {
    labels: { ...MANAGED_BY, ...Object.fromEntries(entries.filter(isLabel)) },
    annotations: Object.fromEntries(entries.filter((entry) => !isLabel(entry))),
  };
}

/**
 * Whether something with these marks was made for that very action. Whose worker made it does not matter: the agent ID is
 * the worker's identity towards the server, and outlives a lost state directory.
 */
export function isMadeFor(action: ActionId, marks: Readonly<Record<string, string>>): boolean {
  return (
    marks[MARK.key] === actionKey(action) &&
    marks[MARK.workflow] === action.workflowId &&
    marks[MARK.agent] === action.agentId &&
    marks[MARK.action] === action.actionId
  );
}
