import { isLeftover, type Sweeper } from "../orphan.ts";
import type { ListedContainer } from "./engine-schema.ts";
import { LABEL } from "./spec.ts";

/** Whether no worker will come back for a container; one without this project's labels is never taken. */
export function isLeftContainer(
  { Labels }: Pick<ListedContainer, "Labels">,
  sweeper: Sweeper & {
    /** Of this process: what it launched itself is never a leftover. */
    readonly instance?: string | undefined;
  },
): boolean {
  const labels = Labels ?? {};
  if (sweeper.instance !== undefined && labels[LABEL.instance] === sweeper.instance) return false;
  const mark = {
    state: labels[LABEL.state],
    key: labels[LABEL.key],
    deadline: labels[LABEL.deadline],
    deadlineBootTime: labels[LABEL.deadlineBootTime],
  };
  return isLeftover(mark, sweeper);
}
