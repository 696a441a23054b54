import type { StartLimit } from "../core/queue/start-limits.ts";
import type { Labels } from "../document/labels.ts";

/** A limit in an inventory file. */
export interface LimitRule {
  /** The key of the label. */
  readonly per: string;
  readonly actions: readonly string[];
  readonly atOnce?: number | undefined;
  /** In milliseconds. */
  readonly every?: number | undefined;
}

/** Identifies a limit: the same whatever the order of its actions, and after its numbers have changed. */
export function limitId({ per, actions }: Pick<LimitRule, "per" | "actions">): string {
  return `${per} ${[...new Set(actions)].sort().join(",")}`;
}

/** The limits of an action at a machine with these labels. A rule does not apply to a machine without the rule's label. */
export function startLimitsOf(
  rules: readonly LimitRule[],
  labels: Labels | undefined,
  action: string,
): readonly StartLimit[] {
  return rules.flatMap(({ per, actions, atOnce, every }): readonly StartLimit[] => {
    const value = labels && Object.hasOwn(labels, per) ? labels[per] : undefined;
    if (value === undefined || !actions.includes(action)) return [];
    const key = `${limitId({ per, actions })} ${value}`;
    return [{ key, of: `${per}=${value}`, atOnce, everyMs: every }];
  });
}
