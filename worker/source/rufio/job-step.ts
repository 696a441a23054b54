import type { ObjectName } from "../../cluster/client/kinds.ts";
import type { OpenJob, RufioTask } from "./objects.ts";

/** What is to be done about a Job now. */
export type JobStep =
  | { readonly kind: "create"; readonly index: number }
  /** A Task of a Job of that name that was there before has the name of the next one. */
  | { readonly kind: "take-away"; readonly task: ObjectName; readonly uid: string }
  | { readonly kind: "wait" }
  | { readonly kind: "fail"; readonly reason: string }
  | { readonly kind: "complete" };

/** As Rufio names the Tasks of a Job (`FormatTaskName`). */
export function taskNameOf({ namespace, name }: ObjectName, index: number): ObjectName {
  return { namespace, name: `${name}-task-${index}` };
}

/**
 * One Task after the other. The last one that there is decides: the ones before it were completed, or it would not have been
 * made, even where somebody has cleared them away since.
 */
export function nextStep(job: OpenJob, taskAt: (name: ObjectName) => RufioTask | undefined): JobStep {
  for (let index = job.tasks.length - 1; index >= 0; index--) {
    const name = taskNameOf(job.name, index);
    const task = taskAt(name);
    if (task?.owner?.uid !== job.uid) continue;
    if (!task.finished) return { kind: "wait" };
    if (task.end === "failed") return { kind: "fail", reason: `task ${textOf(name)} failed` };
    return stepAt(job, index + 1, taskAt);
  }
  return stepAt(job, 0, taskAt);
}

function stepAt(job: OpenJob, index: number, taskAt: (name: ObjectName) => RufioTask | undefined): JobStep {
  if (index >= job.tasks.length) return { kind: "complete" };
  const name = taskNameOf(job.name, index);
  const task = taskAt(name);
  if (!task) return { kind: "create", index };
  if (task.owner?.name === job.name.name) return { kind: "take-away", task: name, uid: task.uid };
  return { kind: "fail", reason: `failed to create Task ${textOf(name)}: another one of that name is there` };
}

function textOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}
