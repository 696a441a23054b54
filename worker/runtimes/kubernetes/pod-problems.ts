import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import type { ObservedPod, Reason, Termination } from "./job-objects.ts";

/** Formats `reason: message`, or the one of them that is set. */
export function reasonText({ reason, message }: Reason): string {
  if (message === "") return reason;
  return reason === "" || message.startsWith(reason) ? message : `${reason}: ${message}`;
}

/** Causes by the `reason` of a pod. */
const POD_REASONS: Readonly<Record<string, string>> = {
  Evicted: "its pod was evicted by its node",
  NodeLost: "its node does not answer",
  Shutdown: "its node was shut down",
  Terminated: "its node was shut down",
  NodeShutdown: "its node was shut down",
  Preempting: "its pod was preempted by a pod of its node",
};

/** Causes by the reason of the condition `DisruptionTarget` (KEP-3329). */
const DISRUPTIONS: Readonly<Record<string, string>> = {
  PreemptionByScheduler: "its pod was preempted by a pod of higher priority",
  DeletionByTaintManager: "its node became unfit for it",
  EvictionByEvictionAPI: "its pod was evicted, as when a node is drained",
  DeletionByPodGC: "its node is gone",
  TerminationByKubelet: "its node ended it",
};

/** What ended a pod, if it was neither the action nor the worker. */
export function disruptionOf(pod: ObservedPod & { readonly isGone?: boolean }): string | undefined {
  const { why, disruption } = pod;
  if (why && why.reason in POD_REASONS) return withDetail(POD_REASONS[why.reason] ?? why.reason, why);
  if (disruption) return withDetail(DISRUPTIONS[disruption.reason] ?? disruption.reason, disruption);
  if (pod.container.kind === "terminated" && pod.container.reason === "ContainerStatusUnknown") {
    return withDetail("its node lost it", pod.container);
  }
  if (why && pod.phase === "Failed" && pod.container.kind !== "terminated") {
    return `its node refused the pod: ${reasonText(why)}`;
  }
  return pod.isBeingDeleted || pod.isGone ? "its pod was deleted by another client" : undefined;
}

function withDetail(words: string, { message }: Reason): string {
  return message === "" ? words : `${words}: ${message}`;
}

export interface StartProblem {
  readonly text: string;
  readonly class: ErrorClass;
  /** How long the problem may last before it is final; absent if it is transient. */
  readonly patienceMs?: number;
}

/** A retry may succeed, for example if a Secret or a network interface was late. */
const PATIENCE_MS = 5_000;

/** Problems by the reason why a container waits. Others are transient. */
const PERMANENT: Readonly<Record<string, Required<Omit<StartProblem, "text">>>> = {
  InvalidImageName: { class: "usage", patienceMs: 0 },
  ErrImageNeverPull: { class: "usage", patienceMs: 0 },
  CreateContainerConfigError: { class: "usage", patienceMs: PATIENCE_MS },
  CreateContainerError: { class: "internal", patienceMs: PATIENCE_MS },
  RunContainerError: { class: "internal", patienceMs: PATIENCE_MS },
};

/** Why a container waits, if the reason is specific: `ContainerCreating` is not. */
export function startProblem(pod: ObservedPod | undefined): StartProblem | undefined {
  if (!pod) return undefined;
  const { container, unscheduled, node } = pod;
  if (unscheduled && node === undefined) {
    return { text: `no node takes the pod: ${reasonText(unscheduled)}`, class: "internal" };
  }
  if (container.kind !== "waiting" || !container.why || NORMAL_WAITING.has(container.why.reason)) {
    return undefined;
  }
  const { why } = container;
  return { class: classOfPull(why), ...PERMANENT[why.reason], text: reasonText(why) };
}

const NORMAL_WAITING: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing", ""]);

function classOfPull({ reason, message }: Reason): ErrorClass {
  if (reason !== "ErrImagePull" && reason !== "ImagePullBackOff") return "internal";
  // The class is not `auth`, which would mean that a BMC refused the credentials.
  return /not found|manifest unknown|denied|unauthorized|authentication required/i.test(message)
    ? "usage"
    : "unreachable";
}

/** The failure of a container that was created, but whose program did not start. Nothing was done. */
export function startFailure({ reason, message }: Termination): string | undefined {
  if (reason !== "StartError" && reason !== "ContainerCannotRun") return undefined;
  return `the container could not be started: ${message === "" ? reason : message}`;
}
