import { keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import type { OpenJob, RufioTask } from "./rufio-api.ts";

export type JobStep =
  | { readonly kind: "create"; readonly index: number }
  /** The next Task's name is taken by a Task of a deleted Job that had the same name as this Job. */
  | { readonly kind: "take-away"; readonly task: ObjectName; readonly uid: string }
  | { readonly kind: "wait" }
  | { readonly kind: "fail"; readonly reason: string }
  | { readonly kind: "complete" };

/** Names a Job's Task like Rufio (`FormatTaskName`). */
export function taskNameOf({ namespace, name }: ObjectName, index: number): ObjectName {
  return { namespace, name: `${name}-task-${index}` };
}

/**
 * Decides the next step of a Job, whose Tasks run one after the other. The last existing Task decides: it was created only
 * after the earlier ones had completed, even if those have been deleted since.
 */
export function nextStep(job: OpenJob, taskAt: (name: ObjectName) => RufioTask | undefined): JobStep {
  for (let index = job.tasks.length - 1; index >= 0; index--) {
    const name = taskNameOf(job.name, index);
    const task = taskAt(name);
    if (task?.owner?.uid !== job.uid) continue;
    if (!task.finished) return { kind: "wait" };
    if (task.end === "failed") return { kind: "fail", reason: `task ${keyOf(name)} failed` };
    return stepAt(job, index + 1, taskAt);
  }
  return stepAt(job, job.completed, taskAt);
}

/** Parses the name of a Task, the inverse of `taskNameOf`. */
export function jobOfTaskName({
  namespace,
  name,
}: ObjectName): { job: ObjectName; index: number } | undefined {
  const [, job, index] = /^(.+)-task-(\d+)$/.exec(name) ?? [];
  return job === undefined ? undefined : { job: { namespace, name: job }, index: Number(index) };
}

function stepAt(job: OpenJob, index: number, taskAt: (name: ObjectName) => RufioTask | undefined): JobStep {
  if (index >= job.tasks.length) return { kind: "complete" };
  const name = taskNameOf(job.name, index);
  const task = taskAt(name);
  if (!task) return { kind: "create", index };
  if (task.owner?.name === job.name.name) return { kind: "take-away", task: name, uid: task.uid };
  return { kind: "fail", reason: `failed to create Task ${keyOf(name)}: another one of that name is there` };
}
