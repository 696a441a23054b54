import { z } from "zod";

/** A condition of Rufio's objects. Unlike in the API conventions, it has no reason and no transition time. */
const Condition = z.object({
  type: z.string(),
  status: z.string(),
  message: z.string().optional(),
  lastUpdateTime: z.string().nullish(),
  observedGeneration: z.number().nullish(),
});
export type Condition = z.infer<typeof Condition>;

export const Conditions = z
  .array(Condition)
  .nullish()
  .transform((conditions): readonly Condition[] => conditions ?? []);
export type Conditions = z.infer<typeof Conditions>;

export const Time = z
  .string()
  .nullish()
  .transform((time) => time || undefined);

/** The status of a Job or Task. */
export const Progress = z
  .object({
    conditions: Conditions,
    startTime: Time,
    /** Set only in a v1alpha2 Job. */
    completedOperations: z.int().nonnegative().nullish(),
  })
  .prefault({});
export type Progress = z.infer<typeof Progress>;

export function isTrue(conditions: Conditions, type: string): boolean {
  return conditions.find((condition) => condition.type === type)?.status === "True";
}

export function isFinished({ conditions }: { readonly conditions: Conditions }): boolean {
  return isTrue(conditions, "Completed") || isTrue(conditions, "Failed");
}

/** Sets a condition, keeping the others and their order. Omits an empty message, like Go's `omitempty`. */
export function withCondition(
  conditions: Conditions,
  type: string,
  status: "True" | "False" = "True",
  message = "",
): Conditions {
  return setCondition(conditions, { type, status, ...(message !== "" && { message }) });
}

export function setCondition(conditions: Conditions, set: Condition): Conditions {
  return conditions.some(({ type }) => type === set.type)
    ? conditions.map((condition) => (condition.type === set.type ? set : condition))
    : [...conditions, set];
}

/** The fields to patch in the status of a Task that completed; undefined if it has already ended. */
export function completedStatus(found: Progress, startedMs: number, nowMs: number) {
  if (isFinished(found)) return undefined;
  const { conditions, startTime = timeText(startedMs) } = found;
  return { startTime, conditions: withCondition(conditions, "Completed"), completionTime: timeText(nowMs) };
}

/** The fields to patch in the status of a Task that failed; undefined if it has already ended. Like Rufio, sets no completion time. */
export function failedStatus(found: Progress, message: string, startedMs: number) {
  if (isFinished(found)) return undefined;
  const { conditions, startTime = timeText(startedMs) } = found;
  return { startTime, conditions: withCondition(conditions, "Failed", "True", message) };
}

/** Formats a time like `metav1.Time`: UTC, whole seconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
