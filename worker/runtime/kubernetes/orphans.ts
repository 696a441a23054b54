import { isOrphan, type SweepOptions } from "../orphan.ts";
import { ANNOTATION, LABEL } from "./labels.ts";
import type { ObservedJob } from "./objects.ts";

/** How long a Job is kept after its report was acknowledged: caches serve its action for some seconds more. */
export const ACKNOWLEDGED_TTL_SECONDS = 600;
/** A cluster whose controller takes such Jobs away does so within that. */
const CONTROLLER_SLACK_MS = 60_000;

/** Whether no worker will come back for a Job that `SELECTOR` found. */
export function isOrphanJob(
  { labels }: Pick<ObservedJob, "labels">,
  options: SweepOptions & {
    readonly owner: string;
    /** Of this process: what it launched itself is never a leftover. */
    readonly instance: string;
  },
): boolean {
  const acknowledgedMs = Date.parse(labels[ANNOTATION.acknowledged] ?? "");
  if (labels[LABEL.owner] === options.owner && !Number.isNaN(acknowledgedMs)) {
    return options.nowMs - acknowledgedMs > ACKNOWLEDGED_TTL_SECONDS * 1_000 + CONTROLLER_SLACK_MS;
  }
  if (labels[LABEL.instance] === options.instance) return false;
  const mark = {
    state: labels[LABEL.owner],
    key: labels[LABEL.key],
    deadline: labels[LABEL.deadline],
    deadlineBootTime: labels[LABEL.deadlineBootTime],
  };
  return isOrphan(mark, options);
}
