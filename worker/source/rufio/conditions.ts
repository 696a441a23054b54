import { z } from "zod";
import { defined } from "../../../shared/defined.ts";

/** A condition of Rufio's objects: without reason and transition time, unlike the API conventions. */
export const Condition = z.object({
  type: z.string(),
  status: z.string(),
  message: z.string().optional(),
  /** Only in Machines. */
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

/** Sets one condition; the others and the order stay. Omits an empty message, as Go's `omitempty` does. */
export function withCondition(
  conditions: readonly Condition[],
  condition: { readonly type: string; readonly status: "True" | "False"; readonly message?: string },
): readonly Condition[] {
  const { type, status, message } = condition;
  const set: Condition = { type, status, ...defined({ message: message || undefined }) };
  return conditions.some((found) => found.type === type)
    ? conditions.map((found) => (found.type === type ? set : found))
    : [...conditions, set];
}

/** A `metav1.Time`: UTC, whole seconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
