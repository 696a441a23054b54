import { KINDS } from "../client/kinds.ts";
import { type NeededRight, ruleOf } from "../client/needed-right.ts";

export const RIGHTS: readonly NeededRight[] = [
  {
    ...ruleOf(KINDS.workflow, ["list", "watch"]),
    scope: "watched",
    why: "to poll for an agent ID when a Workflow is addressed to it, and rarely otherwise",
  },
];
