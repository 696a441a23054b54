import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { defined } from "../../../shared/defined.ts";
import type { Action, ActionState, ActionStatus, ReturningIds } from "../../core/action/action.ts";
import { environmentOf, readableAction, required, timeoutMsOf } from "../../sources/action-fields.ts";
import {
  State,
  type WorkflowAction,
  type WorkflowActionStatus,
  WorkflowActionStatusSchema,
} from "./gen/workflow_pb.ts";

/** The longest time for which this server's answers may be stale. */
const STALE_AT_MOST_MS = 15_000;

/**
 * For an action without a recorded start. Whatever is found belongs to an earlier run, unless the server does not show the
 * start yet.
 */
export const TO_BEGIN: ReturningIds = {
  ownerOfEnd: (ageMs) => (ageMs < STALE_AT_MOST_MS ? "unknown" : "earlier-run"),
  ownerOfLaunch: ({ hasEnded, ageMs }) => (hasEnded && ageMs >= STALE_AT_MOST_MS ? "earlier-run" : "unknown"),
};

/**
 * For an action with a recorded start. Whatever is found was launched afterwards. The server may not know an end that was
 * just settled.
 */
export const BEGUN: ReturningIds = {
  ownerOfEnd: (ageMs) => (ageMs < STALE_AT_MOST_MS ? "unknown" : "this-run"),
};

/**
 * Converts an action of a workflow's list. This API has no action IDs, so the index and the names serve as one, and a
 * recreated workflow has the same IDs. `begun` says whether the server has recorded the start. The action is `unreadable` if
 * its image is missing, its timeout is negative or an environment entry is not `KEY=value`. Throws `MalformedAction` if a
 * name is missing, because the action then cannot be reported.
 */
export function actionOf(
  workflowId: string,
  { index, action: given }: { readonly index: number; readonly action: WorkflowAction },
  begun: boolean,
): Action {
  const taskId = required("task_name", given.taskName);
  const name = required("name", given.name);
  const known = {
    workflowId: required("workflow_id", workflowId),
    taskId,
    agentId: required("worker_id", given.workerId),
    actionId: `${index}/${taskId}/${name}`,
    name,
    image: given.image,
    returningIds: begun ? BEGUN : TO_BEGIN,
  };
  return readableAction(known, () => {
    required("image", given.image);
    return {
      timeoutMs: timeoutMsOf(given.timeout),
      command: given.command,
      volumes: given.volumes,
      environment: environmentOf(given.environment),
      ...defined({
        onTimeout: given.onTimeout.length > 0 ? given.onTimeout : undefined,
        onFailure: given.onFailure.length > 0 ? given.onFailure : undefined,
        pidNamespace: given.pid || undefined,
      }),
    };
  });
}

/**
 * Converts a report. Seconds are whole numbers, and 0 at the start, like in the worker of tink 0.12. Only the server with a
 * database keeps the message.
 */
export function statusOf(status: ActionStatus): WorkflowActionStatus {
  const { action, state, startedAt, stoppedAt, message } = status;
  const elapsedMs = stoppedAt === undefined ? 0 : Math.max(0, stoppedAt.getTime() - startedAt.getTime());
  return create(WorkflowActionStatusSchema, {
    workflowId: action.workflowId,
    taskName: action.taskId,
    actionName: action.name,
    actionStatus: STATES[state],
    seconds: BigInt(Math.floor(elapsedMs / 1_000)),
    message,
    createdAt: timestampFromDate(startedAt),
    workerId: action.agentId,
  });
}

const STATES: Readonly<Record<ActionState, State>> = {
  running: State.RUNNING,
  success: State.SUCCESS,
  failed: State.FAILED,
  timeout: State.TIMEOUT,
};
