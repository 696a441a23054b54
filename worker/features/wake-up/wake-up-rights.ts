import { KINDS } from "../../kubernetes/client/kinds.ts";
import { type NeededRight, ruleOf } from "../../kubernetes/client/needed-right.ts";

export const RIGHTS: readonly NeededRight[] = [
  {
    ...ruleOf(KINDS.workflow, ["list", "watch"]),
    scope: "watched",
    why: "to poll for an agent ID when a Workflow is addressed to it, and rarely otherwise",
  },
];
