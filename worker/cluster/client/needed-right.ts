/** A rule of RBAC that a part of this worker needs: its `RIGHTS` are what the chart grants and the documentation lists. */
export interface NeededRight {
  /** Empty for the core group. */
  readonly group: string;
  /** With its subresource, such as `jobs/status`. */
  readonly resource: string;
  readonly verbs: readonly string[];
  /** In the worker's own namespace, or wherever it watches. */
  readonly scope: "own" | "watched";
  /** One sentence without its full stop. */
  readonly why: string;
  /** What goes without it, where the worker works all the same. */
  readonly without?: string;
}
