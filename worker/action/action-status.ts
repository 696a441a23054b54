import { oneLine } from "../../shared/contract/result.ts";
import { defined } from "../../shared/defined.ts";
import type { ActionId, ActionState, ActionStatus, Outcome } from "./action.ts";

export type LogFields = Readonly<Record<string, string>>;

/** The report of an end. */
export function endStatus(
  action: ActionId,
  outcome: Outcome,
  startedAt: Date,
  machine?: string,
): ActionStatus {
  return {
    action,
    ...defined({ machine }),
    state: stateOf(outcome),
    startedAt,
    stoppedAt: outcome.stoppedAt,
    message: statusMessage(action, outcome),
  };
}

function stateOf(outcome: Outcome): ActionState {
  if (outcome.ok) return "success";
  return outcome.timedOut ? "timeout" : "failed";
}

/** For the workflow: the action's own reason, with its class and exit code if it failed. */
export function statusMessage(action: Pick<ActionId, "name">, outcome: Outcome): string {
  if (outcome.ok) return outcome.message;
  const code = outcome.exitCode === undefined ? "" : `, exit ${outcome.exitCode}`;
  const machine = outcome.result?.machine ? ` ${outcome.result.machine}` : "";
  return oneLine(
    `${action.name}${machine} failed (${outcome.class ?? "internal"}${code}): ${outcome.message}`,
  );
}

/** The fields of every log line about an action. */
export function fieldsOf(action: ActionId, machine?: string): LogFields {
  const { workflowId: workflow, taskId: task, name, agentId } = action;
  return { workflow, task, action: name, agentId, ...defined({ machine }) };
}
