import * as z from "zod/mini";
import { ANNOTATION } from "./labels.ts";
import { ACTION_CONTAINER } from "./spec.ts";

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
const Condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.optional(z.string()),
  message: z.optional(z.string()),
});
const Said = z.object({ reason: z.optional(z.string()), message: z.optional(z.string()) });

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
    z.object({
      phase: z.optional(z.string()),
      reason: z.optional(z.string()),
      message: z.optional(z.string()),
      conditions: z.optional(z.array(Condition)),
      containerStatuses: z.optional(
        z.array(
          z.object({
            name: z.string(),
            state: z.optional(
              z.object({
                waiting: z.optional(Said),
                running: z.optional(z.object({ startedAt: z.optional(z.string()) })),
                terminated: z.optional(
                  z.object({
                    exitCode: z.number(),
                    signal: z.optional(z.number()),
                    reason: z.optional(z.string()),
                    message: z.optional(z.string()),
                    startedAt: z.nullish(z.string()),
                    finishedAt: z.nullish(z.string()),
                  }),
                ),
              }),
            ),
          }),
        ),
      ),
    }),
  ),
});
export type PodObject = z.infer<typeof PodObject>;

export interface Reason {
  readonly reason: string;
  readonly message: string;
}

export interface ObservedJob {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly suspended: boolean;
  readonly isBeingDeleted: boolean;
  readonly createdMs: number;
  readonly end: { readonly kind: "complete" } | ({ readonly kind: "failed" } & Reason) | undefined;
}

type ContainerState =
  | { readonly kind: "waiting"; readonly why: Reason | undefined }
  | { readonly kind: "running"; readonly startedAt: Date | undefined }
  | ({ readonly kind: "terminated" } & Termination);

export interface Termination {
  readonly exitCode: number;
  readonly signal: number | undefined;
  /** Such as `Completed`, `Error`, `OOMKilled`, `StartError`. */
  readonly reason: string;
  /** Its termination message, or the end of its log. */
  readonly message: string;
  readonly startedAt: Date | undefined;
  readonly finishedAt: Date | undefined;
}

export interface ObservedPod {
  readonly name: string;
  readonly uid: string;
  readonly ownerUid: string | undefined;
  readonly createdMs: number;
  readonly isBeingDeleted: boolean;
  readonly node: string | undefined;
  readonly phase: string;
  readonly container: ContainerState;
  /** The pod's own reason, for example if it was evicted. */
  readonly why: Reason | undefined;
  /** Why it is being removed, if the cluster says so (KEP-3329). */
  readonly disruption: Reason | undefined;
  readonly unscheduled: Reason | undefined;
}

export function observedJob({ metadata, spec, status }: JobObject): ObservedJob {
  const holds = (type: string) =>
    status?.conditions?.find((condition) => condition.type === type && condition.status === "True");
  const failed = holds("Failed");
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    labels: { ...metadata.annotations, ...metadata.labels },
    suspended: spec.suspend ?? false,
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    createdMs: Date.parse(metadata.creationTimestamp ?? ""),
    end: holds("Complete")
      ? { kind: "complete" }
      : failed && { kind: "failed", ...(reasonOf(failed) ?? { reason: "Failed", message: "" }) },
  };
}

export function observedPod({ metadata, spec, status }: PodObject): ObservedPod {
  const { conditions = [], containerStatuses = [] } = status ?? {};
  const disruption = conditions.find(({ type, status }) => type === "DisruptionTarget" && status === "True");
  const scheduled = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  return {
    name: metadata.name,
    uid: metadata.uid,
    ownerUid: metadata.ownerReferences?.[0]?.uid,
    createdMs: Date.parse(metadata.creationTimestamp ?? ""),
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    node: spec.nodeName,
    phase: status?.phase ?? "Pending",
    container: containerState(containerStatuses.find(({ name }) => name === ACTION_CONTAINER)?.state),
    why: reasonOf(status),
    disruption: reasonOf(disruption),
    unscheduled: reasonOf(scheduled),
  };
}

type State = NonNullable<NonNullable<PodObject["status"]>["containerStatuses"]>[number]["state"];

function containerState(state: State): ContainerState {
  const { terminated, running, waiting } = state ?? {};
  if (terminated) {
    return {
      kind: "terminated",
      exitCode: terminated.exitCode,
      signal: terminated.signal || undefined,
      reason: terminated.reason ?? "",
      message: terminated.message ?? "",
      startedAt: timeOf(terminated.startedAt),
      finishedAt: timeOf(terminated.finishedAt),
    };
  }
  if (running) return { kind: "running", startedAt: timeOf(running.startedAt) };
  return { kind: "waiting", why: reasonOf(waiting) };
}

/** A container that never ran has 1970 as its start. */
function timeOf(text: string | null | undefined): Date | undefined {
  const ms = Date.parse(text ?? "");
  return ms > 0 ? new Date(ms) : undefined;
}

function reasonOf(said: z.infer<typeof Said> | undefined): Reason | undefined {
  if (!said?.reason && !said?.message) return undefined;
  return { reason: said.reason ?? "", message: said.message ?? "" };
}

export type StopCause = "timeout" | "cancelled" | "not-started";

export function stopCauseOf({ labels }: ObservedJob): StopCause | undefined {
  const note = labels[ANNOTATION.stopped];
  return note === "timeout" || note === "cancelled" || note === "not-started" ? note : undefined;
}
