import { KINDS } from "../client/kinds.ts";
import { type NeededRight, ruleOf } from "../client/needed-right.ts";

export const RIGHTS: readonly NeededRight[] = [
  {
    ...ruleOf(KINDS.event, ["create", "patch"]),
    scope: "watched",
    why: "to write events on a Machine or Hardware that differs from its desired state",
    without: "these events are not written",
  },
];
