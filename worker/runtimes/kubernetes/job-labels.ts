import { defined } from "../../../shared/defined.ts";
import { type ActionId, actionKey } from "../../core/action/action.ts";
import { bootTimeIn } from "../../core/action/boot-time.ts";
import { LAUNCH_LABEL, LOCK_LABEL, lockLabelOf } from "../../kubernetes/leader/lock-label.ts";

const LABEL_VALUE = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

export const MANAGED_BY = { "app.kubernetes.io/managed-by": "pbnj-worker" } as const;

/** Stored on every Job and its pod: as a label if the value can be one, otherwise as an annotation. */
export const LABEL = {
  key: "pbnj-worker/key",
  /** The ID of the state directory of the worker that launched it, or the name of its leader election. */
  owner: "pbnj-worker/owner",
  instance: "pbnj-worker/instance",
  /** Unique per create request, to recognize a Job whose response was lost. */
  launch: LAUNCH_LABEL,
  deadline: "pbnj-worker/deadline",
  deadlineBootTime: "pbnj-worker/deadline-boot-time",
  workflow: "pbnj-worker/workflow",
  task: "pbnj-worker/task",
  agent: "pbnj-worker/agent",
  action: "pbnj-worker/action",
  actionName: "pbnj-worker/action-name",
  secret: "pbnj-worker/secret",
  bmc: LOCK_LABEL,
} as const;

/** Written to a Job after its creation. */
export const ANNOTATION = {
  /** The reason of the stop (`StopCause`), written together with the stop. */
  stopped: "pbnj-worker/stopped",
  reason: "pbnj-worker/reason",
  /** When the final report was acknowledged, in ISO 8601. */
  acknowledged: "pbnj-worker/acknowledged",
  /** The action's exit code, which remains after the pod is gone. */
  exitCode: "pbnj-worker/exit-code",
} as const;

/** The annotation of the pod that becomes the connection file. */
export const CONNECTION_ANNOTATION = "pbnj-worker/connection";

export const SELECTOR = `app.kubernetes.io/managed-by=${MANAGED_BY["app.kubernetes.io/managed-by"]},${LABEL.key}`;

export interface JobMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The labels of an action's Job, which may take `overMs` from now. */
export function jobMetadata(
  action: ActionId,
  worker: {
    readonly owner: string;
    readonly instance: string;
    readonly launch: string;
    readonly lockKey?: string | undefined;
  },
  overMs: number,
  nowMs: number,
): JobMetadata {
  const values: Record<string, string> = {
    [LABEL.key]: actionKey(action),
    [LABEL.owner]: worker.owner,
    [LABEL.instance]: worker.instance,
    [LABEL.launch]: worker.launch,
    [LABEL.deadline]: new Date(nowMs + overMs).toISOString(),
    ...defined({ [LABEL.deadlineBootTime]: bootTimeIn(overMs) }),
    [LABEL.workflow]: action.workflowId,
    [LABEL.task]: action.taskId,
    [LABEL.agent]: action.agentId,
    [LABEL.action]: action.actionId,
    [LABEL.actionName]: action.name,
    ...(worker.lockKey !== undefined && { [LABEL.bmc]: lockLabelOf(worker.lockKey) }),
  };
  const isLabel = ([, value]: [string, string]) => LABEL_VALUE.test(value);
  const entries = Object.entries(values);
  return {
    labels: { ...MANAGED_BY, ...Object.fromEntries(entries.filter(isLabel)) },
    annotations: Object.fromEntries(entries.filter((entry) => !isLabel(entry))),
  };
}

/**
 * Whether something with these labels belongs to the action. It does not matter which worker created it: the agent ID
 * is the worker's identity towards the server, even after a lost state directory.
 */
export function isJobOf(action: ActionId, labels: Readonly<Record<string, string>>): boolean {
  return (
    labels[LABEL.key] === actionKey(action) &&
    labels[LABEL.workflow] === action.workflowId &&
    labels[LABEL.agent] === action.agentId &&
    labels[LABEL.action] === action.actionId
  );
}
