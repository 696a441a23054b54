import * as z from "zod/mini";
import { ANNOTATION } from "./job-labels.ts";
import { ACTION_CONTAINER } from "./job-spec.ts";

const Texts = z.optional(z.record(z.string(), z.string()));
const Meta = z.object({
  name: z.string(),
  namespace: z.optional(z.string()),
  uid: z.string(),
  resourceVersion: z.optional(z.string()),
  creationTimestamp: z.optional(z.string()),
  deletionTimestamp: z.optional(z.string()),
  labels: Texts,
  annotations: Texts,
  ownerReferences: z.optional(z.array(z.object({ uid: z.string() }))),
});
const Said = z.object({ reason: z.optional(z.string()), message: z.optional(z.string()) });
const Condition = z.extend(Said, { type: z.string(), status: z.string() });
const Terminated = z.extend(Said, {
  exitCode: z.number(),
  signal: z.optional(z.number()),
  startedAt: z.nullish(z.string()),
  finishedAt: z.nullish(z.string()),
});
const State = z.object({
  waiting: z.optional(Said),
  running: z.optional(z.object({ startedAt: z.optional(z.string()) })),
  terminated: z.optional(Terminated),
});

export const JobObject = z.object({
  metadata: Meta,
  spec: z.object({ suspend: z.optional(z.boolean()) }),
  status: z.optional(z.object({ conditions: z.optional(z.array(Condition)) })),
});
export type JobObject = z.infer<typeof JobObject>;

export const PodObject = z.object({
  metadata: Meta,
  spec: z.object({ nodeName: z.optional(z.string()) }),
  status: z.optional(
    z.extend(Said, {
      phase: z.optional(z.string()),
      conditions: z.optional(z.array(Condition)),
      containerStatuses: z.optional(z.array(z.object({ name: z.string(), state: z.optional(State) }))),
    }),
  ),
});
export type PodObject = z.infer<typeof PodObject>;

export interface Reason {
  readonly reason: string;
  readonly message: string;
}

export type ObservedJob = Readonly<ReturnType<typeof observedJob>>;
export type ObservedPod = Readonly<ReturnType<typeof observedPod>>;
export type Termination = ReturnType<typeof terminationOf>;

export function observedJob({ metadata, spec, status }: JobObject) {
  const conditions = status?.conditions?.filter((condition) => condition.status === "True");
  const isComplete = conditions?.some(({ type }) => type === "Complete");
  const failed = conditions?.find(({ type }) => type === "Failed");
  const failure = failed && (reasonOf(failed) ?? { reason: "Failed", message: "" });
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    labels: { ...metadata.annotations, ...metadata.labels },
    suspended: spec.suspend ?? false,
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    createdMs: Date.parse(metadata.creationTimestamp ?? ""),
    end: isComplete ? { kind: "complete" as const } : failure && { kind: "failed" as const, ...failure },
  };
}

export function observedPod({ metadata, spec, status }: PodObject) {
  const { conditions = [], containerStatuses = [] } = status ?? {};
  const disruption = conditions.find(({ type, status }) => type === "DisruptionTarget" && status === "True");
  const unscheduled = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  return {
    name: metadata.name,
    uid: metadata.uid,
    ownerUid: metadata.ownerReferences?.[0]?.uid,
    createdMs: Date.parse(metadata.creationTimestamp ?? ""),
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    node: spec.nodeName,
    phase: status?.phase ?? "Pending",
    container: containerState(containerStatuses.find(({ name }) => name === ACTION_CONTAINER)?.state),
    /** The pod's own reason, for example after an eviction. */
    why: reasonOf(status),
    /** The reason of its removal, if the cluster reports one (KEP-3329). */
    disruption: reasonOf(disruption),
    unscheduled: reasonOf(unscheduled),
  };
}

function containerState({ terminated, running, waiting }: z.infer<typeof State> = {}) {
  if (terminated) return { kind: "terminated" as const, ...terminationOf(terminated) };
  if (running) return { kind: "running" as const, startedAt: timeOf(running.startedAt) };
  return { kind: "waiting" as const, why: reasonOf(waiting) };
}

function terminationOf(terminated: z.infer<typeof Terminated>) {
  return {
    exitCode: terminated.exitCode,
    signal: terminated.signal || undefined,
    /** Such as `Completed`, `Error`, `OOMKilled`, `StartError`. */
    reason: terminated.reason ?? "",
    /** The termination message, or the end of the log. */
    message: terminated.message ?? "",
    startedAt: timeOf(terminated.startedAt),
    finishedAt: timeOf(terminated.finishedAt),
  };
}

/** Reads a time. A container that never ran has 1970 as its start. */
function timeOf(text: string | null | undefined): Date | undefined {
  const ms = Date.parse(text ?? "");
  return ms > 0 ? new Date(ms) : undefined;
}

function reasonOf(said: z.infer<typeof Said> | undefined): Reason | undefined {
  if (!said?.reason && !said?.message) return undefined;
  return { reason: said.reason ?? "", message: said.message ?? "" };
}

const STOP_CAUSES = ["timeout", "cancelled", "not-started"] as const;
export type StopCause = (typeof STOP_CAUSES)[number];

export function stopCauseOf({ labels }: ObservedJob): StopCause | undefined {
  return STOP_CAUSES.find((cause) => cause === labels[ANNOTATION.stopped]);
}
