/** An RBAC rule that a part of this worker needs. The chart grants the `RIGHTS`, and the documentation lists them. */
export interface NeededRight {
  /** Empty for the core group. */
  readonly group: string;
  /** With its subresource, such as `jobs/status`. */
  readonly resource: string;
  readonly verbs: readonly string[];
  /** The worker's own namespace, or the watched ones. */
  readonly scope: "own" | "watched";
  /** One sentence without a full stop. */
  readonly why: string;
  /** What does not work without it, if the worker can run without it. */
  readonly without?: string;
}
