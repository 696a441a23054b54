import { KINDS } from "../client/kinds.ts";
import { type NeededRight, ruleOf } from "../client/needed-right.ts";

/** For sharing lanes; without one of them a replica owns no lane. */
export const RIGHTS: readonly NeededRight[] = [
  {
    ...ruleOf(KINDS.lease, ["create", "list", "watch", "update", "delete"]),
    scope: "own",
    why: "Replicas share the lanes using Leases: they join, see each other, acquire and release lanes, and leave",
  },
  {
    ...ruleOf(KINDS.job, ["list", "watch"]),
    scope: "own",
    why: "Before a BMC that a dead replica held is used, the Job of its action must have ended",
  },
];
