import { z } from "zod";

/** A condition of Rufio's objects: unlike in the API conventions, without reason and transition time. */
export const Condition = z.object({
  type: z.string(),
  status: z.string(),
  message: z.string().optional(),
  /** Only for Machines. */
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

/** Sets a condition, keeping the others and their order. An empty message is omitted, as by Go's `omitempty`. */
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

/** As `metav1.Time`: UTC, whole seconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
