import { KINDS } from "../kubernetes/kinds.ts";
import type { NeededRight } from "../kubernetes/needed-right.ts";

export const RIGHTS: readonly NeededRight[] = [
  {
    group: KINDS.workflow.group,
    resource: KINDS.workflow.resource,
    verbs: ["list", "watch"],
    scope: "watched",
    why: "to poll for an agent ID when a Workflow is addressed to it, and rarely otherwise",
  },
];
