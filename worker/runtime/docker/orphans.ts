import { isOrphan, type SweepOptions } from "../orphan.ts";
import type { ListedContainer } from "./engine-schema.ts";
import { LABEL } from "./spec.ts";

/** Whether no worker will come back for a container; one without this project's labels is never taken. */
export function isOrphanContainer(
  { Labels }: Pick<ListedContainer, "Labels">,
  options: SweepOptions & {
    /** Of this process: what it launched itself is never a leftover. */
    readonly instance?: string | undefined;
  },
): boolean {
  const labels = Labels ?? {};
  if (options.instance !== undefined && labels[LABEL.instance] === options.instance) return false;
  const mark = {
    state: labels[LABEL.state],
    key: labels[LABEL.key],
    deadline: labels[LABEL.deadline],
    deadlineBootTime: labels[LABEL.deadlineBootTime],
  };
  return isOrphan(mark, options);
}
