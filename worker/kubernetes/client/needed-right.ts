import type { Kind } from "./kinds.ts";

/** An RBAC rule that a part of this worker needs. The chart grants the `RIGHTS`, and the documentation lists them. */
export interface NeededRight {
  readonly group: string;
  readonly resource: string;
  /** Name of the only object that the right is for. */
  readonly name?: string;
  readonly verbs: readonly string[];
  /** The worker's own namespace, or the watched ones. */
  readonly scope: "own" | "watched";
  readonly why: string;
  /** What does not work without it, if the worker can run without it. */
  readonly without?: string;
}

/** A rule for a kind, or one of its subresources. */
export function ruleOf({ group, resource }: Kind, verbs: readonly string[], subresource?: string) {
  return { group, resource: subresource === undefined ? resource : `${resource}/${subresource}`, verbs };
}
