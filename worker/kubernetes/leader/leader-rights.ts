import { KINDS } from "../client/kinds.ts";
import { type NeededRight, ruleOf } from "../client/needed-right.ts";

/** The rights for leader election with this Lease. */
export function leaderRights(lease: string): readonly NeededRight[] {
  return [
    {
      ...ruleOf(KINDS.lease, ["create"]),
      scope: "own",
      why: "The first worker creates the Lease of the leader election",
    },
    {
      ...ruleOf(KINDS.lease, ["list", "watch", "update"]),
      name: lease,
      scope: "own",
      why: "The leader renews its Lease, and the others see when they may take it over",
    },
    {
      ...ruleOf(KINDS.pod, ["patch"]),
      scope: "own",
      why: "The leader labels its own pod, which the Service selects, and removes the label from the leader's before it",
      without: "the Service does not reach the leader",
    },
  ];
}
