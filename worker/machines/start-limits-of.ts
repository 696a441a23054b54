import type { StartLimit } from "../core/queue/start-limits.ts";
import type { Labels } from "../document/labels.ts";

/** A limit as an inventory file has it. */
export interface LimitRule {
  /** The key of the label. */
  readonly per: string;
  readonly actions: readonly string[];
  readonly atOnce?: number | undefined;
  /** In milliseconds. */
  readonly every?: number | undefined;
}

/** The limits of an inventory that an action has at a machine with these labels. A machine without a rule's label has none of it. */
export function startLimitsOf(
  rules: readonly LimitRule[],
  labels: Labels | undefined,
  action: string,
): readonly StartLimit[] {
  return rules.flatMap(({ per, actions, atOnce, every }): readonly StartLimit[] => {
    const value = labels && Object.hasOwn(labels, per) ? labels[per] : undefined;
    if (value === undefined || !actions.includes(action)) return [];
    const of = `${per}=${value}`;
    return [{ key: `${of} ${actions.join(",")}`, of, atOnce, everyMs: every }];
  });
}
