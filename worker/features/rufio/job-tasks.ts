import type { ObjectName } from "../../kubernetes/client/kinds.ts";
import type { Change } from "../../kubernetes/client/watched-objects.ts";
import { jobOfTaskName, taskNameOf } from "./job-step.ts";
import type { RufioJob, RufioTask } from "./rufio-api.ts";

interface Jobs {
  get(name: ObjectName): RufioJob | undefined;
  values(): Iterable<RufioJob>;
}

/** The Tasks of Jobs whose status has their progress, as if they were objects. */
export class JobTasks {
  readonly #jobs: Jobs;

  constructor(jobs: Jobs) {
    this.#jobs = jobs;
  }

  get(name: ObjectName): RufioTask | undefined {
    const at = jobOfTaskName(name);
    return at && this.#jobs.get(at.job)?.ownTasks?.[at.index];
  }

  *values(): IterableIterator<RufioTask> {
    for (const { ownTasks = [] } of this.#jobs.values()) yield* ownTasks;
  }
}

/** What a change of a Job changes of its Tasks, except for those that have ended before and after. */
export function taskChanges({ name, before, ...change }: Change<RufioJob>): readonly Change<RufioTask>[] {
  const was = before?.ownTasks ?? [];
  const is = change.kind === "set" ? (change.value.ownTasks ?? []) : [];
  return Array.from({ length: Math.max(was.length, is.length) }).flatMap((_, index): Change<RufioTask>[] => {
    const at = taskNameOf(name, index);
    const [old, value] = [was[index], is[index]];
    if (old?.finished && value?.finished && old.uid === value.uid) return [];
    if (value) return [{ kind: "set", name: at, value, before: old }];
    return old ? [{ kind: "gone", name: at, before: old }] : [];
  });
}
