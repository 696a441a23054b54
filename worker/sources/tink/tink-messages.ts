import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { defined } from "../../../shared/defined.ts";
import { formatGoDuration } from "../../../shared/duration.ts";
import type { Action, ActionState, ActionStatus } from "../../core/action/action.ts";
import { environmentOf, MalformedAction, readableAction, required, timeoutMsOf } from "../action-fields.ts";
import {
  type ActionResponse,
  type ActionStatusRequest,
  ActionStatusRequest_StateType,
  ActionStatusRequestSchema,
} from "./gen/workflow_pb.ts";

/**
 * Converts the server's answer to `agentId`. The action is `unreadable` if its name or image is missing, its timeout is
 * negative or an environment entry is not `KEY=value`. Throws `MalformedAction` if the action cannot be reported, because an
 * ID is missing or it belongs to another agent.
 */
export function actionOf(response: ActionResponse, agentId: string): Action {
  if (response.agentId !== agentId) {
    throw new MalformedAction(`the action is for agent ${JSON.stringify(response.agentId)}`);
  }
  const actionId = required("action_id", response.actionId);
  const known = {
    workflowId: required("workflow_id", response.workflowId),
    taskId: required("task_id", response.taskId),
    agentId: required("agent_id", response.agentId),
    actionId,
    name: response.name || actionId,
    image: response.image,
  };
  return readableAction(known, () => {
    required("name", response.name);
    required("image", response.image);
    return {
      timeoutMs: timeoutMsOf(response.timeout),
      command: response.command,
      volumes: response.volumes,
      environment: environmentOf(response.environment),
      ...defined({
        networkNamespace: response.namespaces?.network || undefined,
        pidNamespace: response.namespaces?.pid || response.pid || undefined,
      }),
    };
  });
}

/** Converts a report. Only the report of an end has a stop time and a duration. */
export function statusRequestOf(status: ActionStatus): ActionStatusRequest {
  const { action, startedAt, stoppedAt } = status;
  const end: MessageInitShape<typeof ActionStatusRequestSchema> =
    stoppedAt === undefined
      ? {}
      : {
          executionStop: timestampFromDate(stoppedAt),
          executionDuration: formatGoDuration(Math.max(0, stoppedAt.getTime() - startedAt.getTime())),
        };
  return create(ActionStatusRequestSchema, {
    workflowId: action.workflowId,
    agentId: action.agentId,
    taskId: action.taskId,
    actionId: action.actionId,
    actionName: action.name,
    actionState: STATES[status.state],
    executionStart: timestampFromDate(startedAt),
    ...end,
    message: { message: status.message },
  });
}

const STATES: Readonly<Record<ActionState, ActionStatusRequest_StateType>> = {
  running: ActionStatusRequest_StateType.RUNNING,
  success: ActionStatusRequest_StateType.SUCCESS,
  failed: ActionStatusRequest_StateType.FAILED,
  timeout: ActionStatusRequest_StateType.TIMEOUT,
};
