import { z } from "zod";

/** A condition as Rufio's objects have them: without reason and transition time, unlike those of the API conventions. */
export const Condition = z.object({
  type: z.string(),
  status: z.string(),
  message: z.string().optional(),
  /** Of a Machine's alone. */
  lastUpdateTime: z.string().nullish(),
});
export type Condition = z.infer<typeof Condition>;

export const Conditions = z
  .array(Condition)
  .nullish()
  .transform((conditions): readonly Condition[] => conditions ?? []);

export function isTrue(conditions: readonly Condition[], type: string): boolean {
  return conditions.find((condition) => condition.type === type)?.status === "True";
}

/** With a condition set: the others, and the order, stay. An empty message is left out, as Go's `omitempty` does. */
export function withCondition(
  conditions: readonly Condition[],
  {
    type,
    status,
    message = "",
  }: { readonly type: string; readonly status: "True" | "False"; readonly message?: string },
): readonly Condition[] {
  const set: Condition = { type, status, ...(message !== "" && { message }) };
  return conditions.some((condition) => condition.type === type)
    ? conditions.map((condition) => (condition.type === type ? set : condition))
    : [...conditions, set];
}

/** A time as `metav1.Time` has it: UTC, whole seconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
