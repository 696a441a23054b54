import { ANNOTATION } from "./job-labels.ts";
import type { Termination } from "./job-objects.ts";
import { type StartProblem, startProblem } from "./pod-problems.ts";
import type { JobSnapshot } from "./watched-jobs.ts";

export type PodState =
  | { readonly kind: "pending"; readonly problem: StartProblem | undefined }
  | { readonly kind: "running"; readonly startedAt: Date | undefined }
  | {
      readonly kind: "ended";
      readonly pod: NonNullable<JobSnapshot["pod"]>;
      readonly termination: Termination;
    }
  /** The Job has ended or its pod is gone, and the end of its container is unknown. */
  | { readonly kind: "over" };

/** The state of the action's container; other containers in the pod may run forever. */
export function podState({ job, pod }: JobSnapshot): PodState {
  if (pod?.container.kind === "terminated") return { kind: "ended", pod, termination: pod.container };
  if (isJobOver(job) || isPodOver(pod)) return { kind: "over" };
  if (pod?.container.kind === "running") return { kind: "running", startedAt: pod.container.startedAt };
  return { kind: "pending", problem: startProblem(pod) };
}

/** Whether the Job is over. An acknowledged action has ended, even if its Job continues because of other containers. */
function isJobOver(job: JobSnapshot["job"]): boolean {
  if (job === undefined || job === "gone") return job === "gone";
  return job.end !== undefined || job.labels[ANNOTATION.acknowledged] !== undefined;
}

/** Whether everything in the pod has ended. */
export function isPodOver(pod: JobSnapshot["pod"]): boolean {
  return pod !== undefined && (pod.isGone || pod.phase === "Failed" || pod.phase === "Succeeded");
}
