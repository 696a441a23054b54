import type { KubeObject } from "../api/object.ts";
import { specOf } from "../kinds/pod.ts";
import { podStatusOf } from "./pod-status.ts";

/** Holds a Job's Pod until its end is counted (KEP 2307). */
export const TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking";

export interface PodCounts {
  readonly active: readonly KubeObject[];
  readonly ready: number;
  /** Being deleted, not ended yet. */
  readonly terminating: number;
  /** Ended or counted as failed. */
  readonly ended: readonly KubeObject[];
  /** Those of them that no status tells of. */
  readonly newlyEnded: readonly KubeObject[];
  readonly newlySucceeded: number;
  readonly newlyFailed: number;
  /** Of containers of Pods that run again by themselves. */
  readonly restarts: number;
  /** When the last Pod ended, milliseconds since the epoch; 0 when none has. */
  readonly lastEndMs: number;
}

/** Adds up a Job's Pods. One that is being deleted counts as failed at once, as `TerminatingOrFailed` has it. */
export function countPods(pods: readonly KubeObject[], counted: ReadonlySet<string>): PodCounts {
  const phase = (pod: KubeObject) => podStatusOf(pod).phase;
  const succeeded = pods.filter((pod) => phase(pod) === "Succeeded");
  const going = (pod: KubeObject) => Boolean(pod.metadata.deletionTimestamp);
  const failed = pods.filter((pod) => phase(pod) === "Failed" || (going(pod) && phase(pod) !== "Succeeded"));
  const active = pods.filter((pod) => !succeeded.includes(pod) && !failed.includes(pod));
  const isNew = ({ metadata }: KubeObject) =>
    !counted.has(metadata.uid ?? "") && metadata.finalizers?.includes(TRACKING_FINALIZER) === true;
  const ended = [...succeeded, ...failed];
  return {
    active,
    ready: active.filter(isReady).length,
    terminating: pods.filter((pod) => going(pod) && phase(pod) !== "Succeeded" && phase(pod) !== "Failed")
      .length,
    ended,
    newlyEnded: ended.filter(isNew),
    newlySucceeded: succeeded.filter(isNew).length,
    newlyFailed: failed.filter(isNew).length,
    restarts: active.reduce((sum, pod) => sum + restartsOf(pod), 0),
    lastEndMs: Math.max(0, ...ended.map(endOf)),
  };
}

function isReady(pod: KubeObject): boolean {
  return (
    podStatusOf(pod).conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false
  );
}

function restartsOf(pod: KubeObject): number {
  if (specOf(pod).restartPolicy !== "OnFailure") return 0;
  return (podStatusOf(pod).containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}

function endOf(pod: KubeObject): number {
  const ends = (podStatusOf(pod).containerStatuses ?? []).map(({ state }) =>
    Date.parse(state?.terminated?.finishedAt ?? ""),
  );
  const known = ends.filter((end) => !Number.isNaN(end));
  return known.length > 0 ? Math.max(...known) : Date.parse(pod.metadata.deletionTimestamp ?? "") || 0;
}
