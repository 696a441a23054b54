import { KINDS } from "../client/kinds.ts";
import type { NeededRight } from "../client/needed-right.ts";

/** For sharing lanes; without one of them a replica owns no lane. */
export const RIGHTS: readonly NeededRight[] = [
  {
    group: KINDS.lease.group,
    resource: KINDS.lease.resource,
    verbs: ["create", "list", "watch", "update", "delete"],
    scope: "own",
    why: "Replicas share the lanes using Leases: they join, see each other, acquire and release lanes, and leave",
  },
  {
    group: KINDS.job.group,
    resource: KINDS.job.resource,
    verbs: ["list", "watch"],
    scope: "own",
    why: "Before a BMC that a dead replica held is used, the Job of its action must have ended",
  },
];
