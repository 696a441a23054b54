import type { Kind } from "./kinds.ts";

/** An RBAC rule that the worker needs. The chart grants it, and the documentation lists it. */
export interface NeededRight {
  readonly group: string;
  readonly resource: string;
  /** The name of the only object that the rule applies to. */
  readonly name?: string;
  readonly verbs: readonly string[];
  /** Whether the rule is for the worker's own namespace or for the watched ones. */
  readonly scope: "own" | "watched";
  readonly why: string;
  /** What does not work without the rule, if the worker can run without it. */
  readonly without?: string;
}

/** The fields of a rule for a kind or one of its subresources. */
export function ruleOf({ group, resource }: Kind, verbs: readonly string[], subresource?: string) {
  return { group, resource: subresource === undefined ? resource : `${resource}/${subresource}`, verbs };
}
