import type { JsonObject } from "../api/object.ts";

/** Fields that Go writes also when they are empty: readers meet these nulls on every real server. */
const CONDITION = { lastProbeTime: null, lastTransitionTime: null };
const CONTAINER = { state: {}, lastState: {}, ready: false, restartCount: 0, image: "", imageID: "" };
const TERMINATED = { exitCode: 0, startedAt: null, finishedAt: null };
const RUNNING = { startedAt: null };

/** A list of conditions with the times that nobody set. */
export function encodedConditions(conditions: unknown): unknown {
  return Array.isArray(conditions)
    ? conditions.map((condition) => ({ ...CONDITION, ...condition }))
    : conditions;
}

export function encodedContainerStatuses(statuses: unknown): unknown {
  if (!Array.isArray(statuses)) return statuses;
  return statuses.map((status: JsonObject) => {
    const whole: JsonObject = { ...CONTAINER, ...status };
    return { ...whole, state: encodedState(whole["state"]), lastState: encodedState(whole["lastState"]) };
  });
}

/** Counts of nothing are left out (`omitempty`). */
export function withoutZeros(object: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([field, value]) => !(fields.includes(field) && value === 0)),
  );
}

function encodedState(state: unknown): JsonObject {
  const { terminated, running, ...rest } = (state ?? {}) as JsonObject;
  return {
    ...rest,
    ...(terminated ? { terminated: { ...TERMINATED, ...terminated } } : {}),
    ...(running ? { running: { ...RUNNING, ...running } } : {}),
  };
}
