import { isLeftover, type Sweeper } from "../orphan.ts";
import { MARK, NOTE } from "./labels.ts";
import type { SeenJob } from "./objects.ts";

/** How long a Job is kept after its report was acknowledged: caches serve its action for some seconds more. */
export const ACKNOWLEDGED_TTL_SECONDS = 600;
/** A cluster whose controller takes such Jobs away does so within that. */
const CONTROLLER_SLACK_MS = 60_000;

/** Whether no worker will come back for a Job that `SELECTOR` found. */
export function isLeftJob(
  { marks }: Pick<SeenJob, "marks">,
  sweeper: Sweeper & {
    readonly owner: string;
    /** Of this process: what it launched itself is never a leftover. */
    readonly instance: string;
  },
): boolean {
  const acknowledgedMs = Date.parse(marks[NOTE.acknowledged] ?? "");
  if (marks[MARK.owner] === sweeper.owner && !Number.isNaN(acknowledgedMs)) {
    return sweeper.nowMs - acknowledgedMs > ACKNOWLEDGED_TTL_SECONDS * 1_000 + CONTROLLER_SLACK_MS;
  }
  if (marks[MARK.instance] === sweeper.instance) return false;
  const mark = {
    state: marks[MARK.owner],
    key: marks[MARK.key],
    deadline: marks[MARK.deadline],
    deadlineBootTime: marks[MARK.deadlineBootTime],
  };
  return isLeftover(mark, sweeper);
}
