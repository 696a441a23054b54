import type {
  V1ContainerState,
  V1ContainerStatus,
  V1PodCondition,
  V1PodStatus,
} from "@kubernetes/client-node";
import { type KubeObject, timestamp } from "../api/object.ts";
import { specOf } from "../kinds/pod.ts";

/** What the kubelet keeps of a termination message. */
export const TERMINATION_MESSAGE_LIMIT = 4_096;

export interface ContainerEnd {
  /** The only one when absent. */
  readonly container?: string;
  readonly exitCode: number;
  readonly signal?: number;
  /** `Completed` or `Error` by the exit code when absent; `OOMKilled` and the like. */
  readonly reason?: string;
  /** The termination message; cut as the kubelet does. */
  readonly message?: string;
  /** Milliseconds since the epoch. */
  readonly startedAt?: number;
  readonly finishedAt?: number;
}

/** The states as JSON: times are texts, where the generated types have Dates. */
type Json<T> = T extends Date ? string : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
export type State = Json<V1ContainerState>;
export type Status = Json<V1ContainerStatus>;
export type PodStatus = Json<V1PodStatus>;
type Condition = Json<V1PodCondition>;

export function podStatusOf(pod: KubeObject): PodStatus {
  return (pod.status ?? {}) as unknown as PodStatus;
}

/** One for every container, in their order, as they are or waiting to be made. */
export function containerStatuses(pod: KubeObject): Status[] {
  const known = podStatusOf(pod).containerStatuses ?? [];
  return specOf(pod).containers.map(
    ({ name, image = "" }) =>
      known.find((status) => status.name === name) ?? {
        name,
        image,
        imageID: "",
        ready: false,
        started: false,
        restartCount: 0,
        lastState: {},
        state: { waiting: { reason: "ContainerCreating" } },
      },
  );
}

/** The container that is meant. Throws when it is not clear. */
export function containerNamed(pod: KubeObject, name: string | undefined): string {
  const names = specOf(pod).containers.map((container) => container.name);
  const [only] = names;
  if (name === undefined && names.length === 1 && only !== undefined) return only;
  if (name !== undefined && names.includes(name)) return name;
  throw new Error(`pod ${pod.metadata.name} has the containers ${names.join(", ")}: name one of them`);
}

export function terminated(end: ContainerEnd, running: State | undefined, now: number): State {
  const { exitCode, signal, reason, message } = end;
  const startedAt = end.startedAt === undefined ? running?.running?.startedAt : timestamp(end.startedAt);
  return {
    terminated: {
      exitCode,
      reason: reason ?? (exitCode === 0 ? "Completed" : "Error"),
      startedAt: startedAt ?? timestamp(now),
      finishedAt: timestamp(end.finishedAt ?? now),
      ...(signal === undefined ? {} : { signal }),
      ...(message === undefined ? {} : { message: cut(message) }),
    },
  };
}

/** The phase that the containers' states make. */
export function phaseOf(statuses: readonly Status[]): string {
  const ends = statuses.map(({ state }) => state?.terminated);
  if (ends.every((end) => end !== undefined))
    return ends.every((end) => end?.exitCode === 0) ? "Succeeded" : "Failed";
  return statuses.some(({ state, restartCount }) => state?.running ?? state?.terminated ?? restartCount > 0)
    ? "Running"
    : "Pending";
}

/** The conditions with these set; one that keeps its status keeps its time. */
export function withConditions(
  pod: KubeObject,
  set: readonly Pick<Condition, "type" | "status" | "reason" | "message">[],
  now: number,
): Condition[] {
  const before = podStatusOf(pod).conditions ?? [];
  const changed = set.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : undefined;
    return { ...condition, lastTransitionTime: lastTransitionTime ?? timestamp(now) };
  });
  return [...before.filter(({ type }) => !set.some((condition) => condition.type === type)), ...changed];
}

function cut(message: string): string {
  const bytes = Buffer.from(message, "utf8");
  return bytes.length <= TERMINATION_MESSAGE_LIMIT
    ? message
    : bytes.subarray(0, TERMINATION_MESSAGE_LIMIT).toString("utf8");
}
