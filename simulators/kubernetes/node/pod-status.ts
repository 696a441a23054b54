import type {
  V1ContainerState,
  V1ContainerStatus,
  V1PodCondition,
  V1PodSpec,
  V1PodStatus,
} from "@kubernetes/client-node";
import { defined } from "../../../shared/defined.ts";
import { type KubeObject, timestamp } from "../api/object.ts";

/** The size to which the kubelet cuts a termination message. */
const TERMINATION_MESSAGE_BYTES = 4_096;

export interface ContainerEnd {
  /** The name of the container; may be absent if there is only one. */
  readonly container?: string;
  readonly exitCode: number;
  /** Defaults to `Completed` or `Error`, depending on the exit code. */
  readonly reason?: string;
  /** The termination message. */
  readonly message?: string;
  /** When the container started, in milliseconds since the epoch. */
  readonly startedAt?: number;
  readonly finishedAt?: number;
}

/** A type as JSON: times are texts, whereas the generated types have Dates. */
type Json<T> = T extends Date ? string : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
export type State = Json<V1ContainerState>;
type Status = Json<V1ContainerStatus>;
export type PodStatus = Json<V1PodStatus>;
type Condition = Json<V1PodCondition>;

export function podSpecOf(pod: KubeObject): V1PodSpec {
  return pod.spec as unknown as V1PodSpec;
}

export function podStatusOf(pod: KubeObject): Partial<PodStatus> {
  return (pod.status ?? {}) as unknown as PodStatus;
}

/** Returns the statuses of all containers in order. */
export function containerStatuses(pod: KubeObject): Status[] {
  const known = podStatusOf(pod).containerStatuses ?? [];
  const absent = { imageID: "", ready: false, started: false, restartCount: 0, lastState: {} };
  return podSpecOf(pod).containers.map(
    ({ name, image = "" }) =>
      known.find((status) => status.name === name) ?? {
        ...absent,
        name,
        image,
        state: { waiting: { reason: "ContainerCreating" } },
      },
  );
}

/** Returns the container. Throws if no name is given and the pod has several containers. */
export function containerNamed(pod: KubeObject, name: string | undefined): string {
  const names = podSpecOf(pod).containers.map((container) => container.name);
  const found = name ?? (names.length === 1 ? names[0] : undefined);
  if (found !== undefined && names.includes(found)) return found;
  throw new Error(`pod ${pod.metadata.name} has the containers ${names.join(", ")}: name one of them`);
}

export function terminated(end: ContainerEnd, running: State | undefined, now: number): State {
  const { exitCode, reason = exitCode === 0 ? "Completed" : "Error", message } = end;
  const startedAt = end.startedAt === undefined ? running?.running?.startedAt : timestamp(end.startedAt);
  const kept = message && Buffer.from(message).subarray(0, TERMINATION_MESSAGE_BYTES).toString("utf8");
  return {
    terminated: {
      exitCode,
      reason,
      startedAt: startedAt ?? timestamp(now),
      finishedAt: timestamp(end.finishedAt ?? now),
      ...defined({ message: kept }),
    },
  };
}

/** Derives the phase from the containers' states. */
export function phaseOf(statuses: readonly Status[]): string {
  const ends = statuses.map(({ state }) => state?.terminated);
  if (ends.every((end) => end !== undefined))
    return ends.every((end) => end?.exitCode === 0) ? "Succeeded" : "Failed";
  return statuses.some(({ state }) => state?.running ?? state?.terminated) ? "Running" : "Pending";
}

/** Returns the pod's conditions with these set. Go writes times that are not set as null. */
export function withConditions(
  pod: KubeObject,
  set: readonly Pick<Condition, "type" | "status" | "reason" | "message">[],
  now: number,
): Condition[] {
  const before = podStatusOf(pod).conditions ?? [];
  const changed = set.map((condition) => {
    const old = before.find(({ type, status }) => type === condition.type && status === condition.status);
    return { ...condition, lastTransitionTime: old?.lastTransitionTime ?? timestamp(now) };
  });
  const kept = before.filter(({ type }) => !set.some((condition) => condition.type === type));
  return [...kept, ...changed].map((condition) => ({ ...NO_TIMES, ...condition }) as Condition);
}

const NO_TIMES = { lastProbeTime: null };
