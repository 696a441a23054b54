import { defined } from "../../../shared/defined.ts";
import type { ActionStatus } from "../../core/action/action.ts";
import type { Acknowledgement, StatusSink } from "../../core/source/source.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS } from "../../kubernetes/client/kinds.ts";
import { KubernetesError, type KubernetesReason } from "../../kubernetes/client/kubernetes-error.ts";
import { completedStatus, failedStatus, isFinished, isTrue, type Progress, timeText } from "./conditions.ts";
import { patchStatus } from "./patch-status.ts";
import { TaskObject, taskOf } from "./rufio-kinds.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import type { RufioObjects } from "./rufio-objects.ts";
import { readTask } from "./rufio-task-action.ts";
import { type TaskQueue, taskNameOfAction } from "./task-queue.ts";

export interface TaskStatusSinkOptions {
  readonly cluster: Pick<Cluster, "find" | "patch">;
  readonly objects: Pick<RufioObjects, "tasks">;
  readonly lease: Pick<RufioLease, "confirmFree">;
  readonly queue: Pick<TaskQueue, "isGone" | "mayStart" | "markEnded">;
}

/** The cluster itself says that the Task does not wait for this report. */
type Refusal = Extract<Acknowledgement, { kind: "gone" }>;

const refusal = (reason: string, code = "FailedPrecondition"): Refusal => ({
  kind: "gone",
  code,
  reason,
});
const GONE = refusal("the Task was deleted, or its Job", "NotFound");
const NOT_OURS = refusal("this worker can no longer start the Task: it has ended, or another worker leads");
const ENDED = refusal("the Task has already ended: another controller has written its outcome");
const NOT_REPEATED = refusal(
  "the Task was started by another controller and cannot be repeated: it has failed",
);

export class TaskStatusSink implements StatusSink {
  readonly #options: TaskStatusSinkOptions;

  constructor(options: TaskStatusSinkOptions) {
    this.#options = options;
  }

  async report(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    signal.throwIfAborted();
    try {
      // A deleted Task needs no report, and a running Rufio continues with the Task itself.
      if (this.#options.queue.isGone(status.action)) return GONE;
      await this.#options.lease.confirmFree(signal);
      if (status.state === "running" && !this.#options.queue.mayStart(status.action)) return NOT_OURS;
      return await this.#write(status, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof LeaseHeld) {
        const refused = refusal(thrown.message);
        // A dead holder counts until its Lease expires; a live one reports the Task's end itself.
        return status.state === "running" ? refused : { ...refused, kind: "retry", perhapsRejected: true };
      }
      if (thrown instanceof KubernetesError) return acknowledgementOf(thrown);
      throw thrown;
    }
  }

  async #write(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    const { cluster, objects, queue } = this.#options;
    const name = taskNameOfAction(status.action);
    const { actionId: uid } = status.action;
    const seen = objects.tasks.get(name);
    const known = seen?.uid === uid && !seen.finished ? seen : undefined;
    const before = known && {
      resourceVersion: known.resourceVersion,
      status: { ...known.status, mayRepeat: mayRepeat(known) },
    };
    const object = { kind: KINDS.rufioTask, name, uid, schema: SeenTask, ...defined({ known: before }) };
    let refused: Refusal | undefined;
    const change = (found: Seen) => {
      const decided = decide(status, found);
      refused = decided.refusal;
      return decided.patch;
    };
    const patched = await patchStatus(cluster, object, change, signal);
    if (patched === "gone") return GONE;
    if (refused) return refused;
    if (status.state !== "running") queue.markEnded(uid);
    return { kind: "acknowledged" };
  }
}

interface Seen extends Progress {
  readonly mayRepeat: boolean;
}

const SeenTask = TaskObject.transform((object) => ({
  metadata: object.metadata,
  status: { ...object.status, mayRepeat: mayRepeat(taskOf(object)) },
}));

/**
 * Whether a started Task may be started again: only this worker can have started it, and the executor has checked its
 * journal and runtime; or it is idempotent.
 */
function mayRepeat(task: ReturnType<typeof taskOf>): boolean {
  if (!task || task.finished || task.own) return true;
  const read = readTask(task.action);
  return !read.ok || read.idempotent;
}

function decide(
  { state, startedAt, stoppedAt, message }: ActionStatus,
  found: Seen,
): { readonly patch?: ReturnType<typeof completedStatus> | Partial<Progress>; readonly refusal?: Refusal } {
  const startedMs = startedAt.getTime();
  if (isFinished(found)) {
    // Our own report whose response was lost.
    const isSaid = isTrue(found.conditions, state === "success" ? "Completed" : "Failed");
    return state !== "running" && isSaid ? {} : { refusal: ENDED };
  }
  switch (state) {
    case "running": {
      const { startTime, mayRepeat } = found;
      if (startTime === undefined) return { patch: { startTime: timeText(startedMs) } };
      if (mayRepeat || startTime === timeText(startedMs)) return {};
      const reason = `it was started at ${startTime} by another controller, may have been carried out and is not idempotent, so it is not run again`;
      return { patch: failedStatus(found, reason, startedMs), refusal: NOT_REPEATED };
    }
    case "success":
      return { patch: completedStatus(found, startedMs, stoppedAt.getTime()) };
    case "failed":
      return { patch: failedStatus(found, message, startedMs) };
    case "timeout":
      // Rufio's message, with the reason instead of a number of nanoseconds.
      return { patch: failedStatus(found, `bmc task timeout: ${message}`, startedMs) };
    default:
      return state satisfies never;
  }
}

/** gRPC's names, as for other reports. */
const CODES: Readonly<Record<KubernetesReason, string>> = {
  unauthorized: "Unauthenticated",
  forbidden: "PermissionDenied",
  "not-found": "NotFound",
  "no-such-kind": "Unimplemented",
  "already-exists": "AlreadyExists",
  conflict: "Aborted",
  expired: "OutOfRange",
  invalid: "InvalidArgument",
  "too-many-requests": "ResourceExhausted",
  unavailable: "Unavailable",
  unreachable: "Unavailable",
  timeout: "DeadlineExceeded",
  unexpected: "Unknown",
};

/** Retried for a while, because an operator may fix it. */
const FIXABLE = new Set<KubernetesReason>(["unauthorized", "forbidden", "no-such-kind", "unexpected"]);

function acknowledgementOf({ reason, message }: KubernetesError): Acknowledgement {
  const answer = { code: CODES[reason], reason: message };
  if (reason === "invalid") return { kind: "rejected", ...answer };
  return { kind: "retry", ...answer, ...(FIXABLE.has(reason) && { perhapsRejected: true }) };
}
