import { KINDS } from "../client/kinds.ts";
import type { NeededRight } from "../client/needed-right.ts";

export const RIGHTS: readonly NeededRight[] = [
  {
    group: KINDS.workflow.group,
    resource: KINDS.workflow.resource,
    verbs: ["list", "watch"],
    scope: "watched",
    why: "to poll for an agent ID when a Workflow is addressed to it, and rarely otherwise",
  },
];
