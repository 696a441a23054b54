import { timeText, withCondition } from "./conditions.ts";
import { isFinished, type TaskStatus } from "./objects.ts";

/** The status fields to patch. Undefined if the Task has already ended. */
export type TaskPatch = Readonly<Record<string, unknown>> | undefined;

export function completedStatus(found: TaskStatus, startedMs: number, nowMs: number): TaskPatch {
  if (isFinished(found.conditions)) return undefined;
  return {
    ...startOf(found, startedMs),
    conditions: withCondition(found.conditions, { type: "Completed", status: "True" }),
    completionTime: timeText(nowMs),
  };
}

/** As in Rufio, there is no completion time. */
export function failedStatus(found: TaskStatus, message: string, startedMs: number): TaskPatch {
  if (isFinished(found.conditions)) return undefined;
  return {
    ...startOf(found, startedMs),
    conditions: withCondition(found.conditions, { type: "Failed", status: "True", message }),
  };
}

function startOf({ startTime }: TaskStatus, startedMs: number) {
  return startTime === undefined ? { startTime: timeText(startedMs) } : {};
}
