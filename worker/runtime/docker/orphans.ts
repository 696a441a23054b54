import { isOrphan, type SweepOptions } from "../orphan.ts";
import type { ListedContainer } from "./engine-schema.ts";
import { LABEL } from "./spec.ts";

/** Whether no worker will adopt a container. One without this project's labels is never an orphan. */
export function isOrphanContainer(
  { Labels }: Pick<ListedContainer, "Labels">,
  options: SweepOptions & {
    /** This process: what it launched itself is never an orphan. */
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
