import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { formatGoDuration } from "../../../shared/duration.ts";
import type { Action, ActionState, ActionStatus } from "../../action.ts";
import {
  type ActionResponse,
  type ActionStatusRequest,
  ActionStatusRequest_StateType,
  ActionStatusRequestSchema,
} from "./gen/workflow_pb.ts";

/** An answer to `GetAction` that no action can be made of; the message says why. */
export class MalformedAction extends Error {
  override readonly name = "MalformedAction";
}

/** The longest a Node timer can wait, about 24 days; a longer one would fire at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * The action a server answered `agentId` with.
 * Throws `MalformedAction` when an ID, the name or the image is missing, when it is another agent's action,
 * when the timeout is negative or an environment entry is not `KEY=value`.
 */
export function actionOf(response: ActionResponse, agentId: string): Action {
  if (response.agentId !== agentId) {
    throw new MalformedAction(`the action is for agent ${JSON.stringify(response.agentId)}`);
  }
  const pidNamespace = response.namespaces?.pid || response.pid;
  const networkNamespace = response.namespaces?.network;
  return {
    workflowId: required("workflow_id", response.workflowId),
    taskId: required("task_id", response.taskId),
    agentId: required("agent_id", response.agentId),
    actionId: required("action_id", response.actionId),
    name: required("name", response.name),
    image: required("image", response.image),
    timeoutMs: timeoutMsOf(response.timeout),
    command: response.command,
    volumes: response.volumes,
    environment: environmentOf(response.environment),
    ...(networkNamespace ? { networkNamespace } : {}),
    ...(pidNamespace ? { pidNamespace } : {}),
  };
}

/** The report about an action; the times of its end only once it ended. */
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

function required(field: string, value: string): string {
  if (value === "") throw new MalformedAction(`the action has no ${field}`);
  return value;
}

function timeoutMsOf(seconds: bigint): number {
  if (seconds < 0n) throw new MalformedAction(`the action's timeout is negative: ${seconds} s`);
  return Math.min(Number(seconds) * 1_000, LONGEST_TIMEOUT_MS);
}

function environmentOf(entries: readonly string[]): Record<string, string> {
  const pairs = entries.map((entry) => {
    const equals = entry.indexOf("=");
    // The entry itself stays out of the message: an environment may hold what is nobody's business.
    if (equals < 1) throw new MalformedAction("an environment entry of the action is not KEY=value");
    return [entry.slice(0, equals), entry.slice(equals + 1)] as const;
  });
  return Object.fromEntries(pairs);
}
