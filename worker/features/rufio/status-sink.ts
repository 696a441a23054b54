import type { Logger } from "../../../shared/logger.ts";
import type { ActionStatus } from "../../core/action/action.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { Acknowledgement, StatusSink } from "../../core/ports/source.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { keyOf } from "../../kubernetes/client/kinds.ts";
import { KubernetesError, type KubernetesReason } from "../../kubernetes/client/kubernetes-error.ts";
import { RUFIO_AGENT_ID } from "../shared/source-agent-ids.ts";
import { timeText } from "./conditions.ts";
import { patchTask } from "./patch-status.ts";
import type { OpenTask, RufioApi, RufioTask, TaskChange } from "./rufio-api.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import type { RufioObjects } from "./rufio-objects.ts";
import { type TaskQueue, taskNameOfAction } from "./task-queue.ts";

export interface TaskStatusSinkOptions {
  readonly api: RufioApi;
  readonly cluster: Cluster;
  readonly objects: RufioObjects;
  readonly lease: RufioLease;
  readonly queue: TaskQueue;
  /** Whether the runtime finds actions that an earlier worker launched, even if that worker's state directory is lost. */
  readonly findsEarlierRuns: boolean;
  readonly log: Logger;
}

/** The acknowledgement of a report that the Task no longer needs. */
type Refusal = Extract<Acknowledgement, { kind: "gone" }>;

const refusal = (reason: string, code = "FailedPrecondition"): Refusal => ({
  kind: "gone",
  code,
  reason,
});
const GONE = refusal("the Task was deleted, or its Job", "NotFound");
const NOT_OURS = refusal("this worker can no longer start the Task: it has ended, or another worker leads");
const ENDED = refusal("the Task has already ended: another controller has written its outcome");
const NOT_REPEATED = refusal("the Task was started before and cannot be repeated: it has failed");

/** Writes the reports of actions to the status of their Tasks. */
export class TaskStatusSink implements StatusSink {
  readonly #options: TaskStatusSinkOptions;
  /** UIDs of Tasks that the executor returned: their start was reported, but they may be started again. */
  readonly #returned = new Set<string>();

  /** Watches for returned actions: the executor returns only those that were not launched or are idempotent. */
  readonly observer: Observer = {
    action: ({ kind, action }) => {
      if (action.agentId !== RUFIO_AGENT_ID) return;
      if (kind === "returned") this.#returned.add(action.actionId);
      else if (kind === "ended") this.#returned.delete(action.actionId);
    },
  };

  constructor(options: TaskStatusSinkOptions) {
    this.#options = options;
  }

  async report(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    signal.throwIfAborted();
    try {
      // A deleted Task needs no report. If Rufio runs, it continues with the Task itself.
      if (this.#options.queue.isGone(status.action)) return GONE;
      await this.#options.lease.confirmFree(signal);
      if (status.state === "running" && !this.#options.queue.mayStart(status.action)) return NOT_OURS;
      return await this.#write(status, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof LeaseHeld) {
        const refused = refusal(thrown.message);
        // Retry an end: a holder that has died keeps the Lease until it expires, and a live one reports the end itself.
        return status.state === "running" ? refused : { ...refused, kind: "retry", perhapsRejected: true };
      }
      if (thrown instanceof KubernetesError) return acknowledgementOf(thrown);
      throw thrown;
    }
  }

  async #write(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    const { api, objects, queue, log } = this.#options;
    const name = taskNameOfAction(status.action);
    const { actionId: uid } = status.action;
    const seen = objects.tasks.get(name);
    const known = seen?.uid === uid && !seen.finished ? seen : undefined;
    let decided: Decided = {};
    const change = (task: RufioTask) => {
      decided = decide(status, task, (open) => this.#mayRepeat(open));
      return decided.change;
    };
    const patched = await patchTask(this.#options, { name, uid }, known, change, signal);
    if (patched === "gone") return GONE;
    if (patched === "written" && decided.change?.kind === "failed" && !api.taskObjects) {
      const job = keyOf({ ...name, name: known?.owner?.name ?? name.name });
      log.warn({ job, reason: decided.change.message }, "Rufio job failed");
    }
    if (decided.refusal) return decided.refusal;
    if (status.state !== "running") queue.markEnded(uid);
    return { kind: "acknowledged" };
  }

  /** Whether a Task may be started again, because it is idempotent or certainly has not run. */
  #mayRepeat({ own, uid, action }: OpenTask): boolean {
    const { api, findsEarlierRuns } = this.#options;
    // The executor has checked its journal and its runtime, or will find an earlier run when it launches the action.
    if (own && (findsEarlierRuns || this.#returned.has(uid))) return true;
    const read = api.readTask(action);
    return !read.ok || read.idempotent;
  }
}

interface Decided {
  readonly change?: TaskChange;
  readonly refusal?: Refusal;
}

function decide(
  { state, startedAt, stoppedAt, message }: ActionStatus,
  task: RufioTask,
  mayRepeat: (task: OpenTask) => boolean,
): Decided {
  const startedMs = startedAt.getTime();
  if (task.finished) {
    // The Task may have ended by this report, if the response to an earlier attempt was lost.
    const isSaid = task.end === (state === "success" ? "completed" : "failed");
    return state !== "running" && isSaid ? {} : { refusal: ENDED };
  }
  const nowMs = (stoppedAt ?? startedAt).getTime();
  switch (state) {
    case "running": {
      const { own, startTime } = task;
      if (startTime === undefined) return { change: { kind: "started", startedMs } };
      if (startTime === timeText(startedMs) || mayRepeat(task)) return {};
      const by = own ? "an earlier worker, whose journal this one does not have" : "another controller";
      const reason = `it was started at ${startTime} by ${by}, may have been carried out and is not idempotent, so it is not run again`;
      return { change: { kind: "failed", startedMs, nowMs, message: reason }, refusal: NOT_REPEATED };
    }
    case "success":
      return { change: { kind: "completed", startedMs, nowMs } };
    case "failed":
    case "timeout":
      return { change: { kind: "failed", startedMs, nowMs, message, timedOut: state === "timeout" } };
    default:
      return state satisfies never;
  }
}

/** The names of gRPC's status codes, which reports to the tink server use, too. */
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

/** The failures that are retried for a while, because an operator may fix them. */
const FIXABLE = new Set<KubernetesReason>(["unauthorized", "forbidden", "no-such-kind", "unexpected"]);

function acknowledgementOf({ reason, message }: KubernetesError): Acknowledgement {
  const answer = { code: CODES[reason], reason: message };
  if (reason === "invalid") return { kind: "rejected", ...answer };
  return { kind: "retry", ...answer, ...(FIXABLE.has(reason) && { perhapsRejected: true }) };
}
