import type { Clock } from "../../../shared/clock.ts";
import { ErrorClass } from "../../../shared/contract/error-class.ts";
import { type StopReason, waitUntilDeadline } from "../../../shared/deadline.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import type { Outcome } from "../../core/action/action.ts";
import { failedLaunch } from "../../core/ports/outcome.ts";
import { type OutputOptions, outputOptions } from "../../core/ports/runtime.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { FLOOD_GRACE_MS, type WrittenOutput } from "../log-stream.ts";
import { followLog, type LogSource, readTail } from "./follow-log.ts";
import type { JobClient } from "./job-client.ts";
import { ANNOTATION } from "./job-labels.ts";
import { type ObservedJob, type ObservedPod, type StopCause, stopCauseOf } from "./job-objects.ts";
import { concludePod, concludeVanished, terminationResult } from "./pod-outcome.ts";
import { PodOutput } from "./pod-output.ts";
import { disruptionOf, reasonText } from "./pod-problems.ts";
import { isPodOver, type PodState, podState } from "./pod-state.ts";
import type { JobObservation, JobSnapshot } from "./watched-jobs.ts";

const DRAIN_MS = 5_000;
const FLOOD_DRAIN_MS = 500;
const STOPPED_WAIT_MS = 30_000;
/** How long to retry stopping an action while the API is unavailable. */
const STOP_BOUND_MS: Readonly<Record<StopCause, number>> = {
  timeout: 600_000,
  "not-started": 120_000,
  cancelled: 60_000,
};
/** How long a Job may take to show why its pod was deleted. */
const JOB_END_WAIT_MS = 5_000;
/** The least time for an adopted Job whose start timeout has expired. */
const LEAST_START_MS = 5_000;
const EVENTS_MS = 10_000;

export interface FollowOptions extends OutputOptions {
  readonly cluster: Cluster;
  readonly client: JobClient;
  readonly job: ObservedJob;
  readonly observation: JobObservation;
  readonly timeoutMs: number;
  readonly startTimeoutMs: number;
  readonly stopGraceMs: number;
  /** When the Job was unsuspended, by the monotonic clock; absent for an adopted Job. */
  readonly launchedMs?: number | undefined;
  /** How far the wall clock was set forward since the start. */
  readonly clockSetMs: number;
  /** Why the action must not run although the Job may have been unsuspended. */
  readonly failure?: string | undefined;
  /** Called if the worker lacks the permission to read logs. */
  readonly onLogForbidden: (reason: string) => void;
  /** Aborts when the worker detaches from the Job, which keeps running. */
  readonly detached: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface FollowedJob {
  readonly outcome: Outcome;
  /** The pod, if another container in it still runs. */
  readonly livePod: ObservedPod | undefined;
}

interface StartFailure {
  readonly class: ErrorClass;
  readonly text: string;
}

/**
 * Follows an unsuspended Job to the end of its action, stops it at its start timeout, its timeout, or when `signal`
 * aborts, and collects its output. Rejects only with the reason of `detached`.
 */
export class JobFollower {
  readonly #options: FollowOptions;
  readonly #output: PodOutput;
  readonly #reading = new AbortController();
  #log: Promise<void> | undefined;
  #stopped: StopCause | undefined;
  #startFailure: StartFailure | undefined;
  #hasRun = false;
  #stopFailure: string | undefined;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#output = new PodOutput(outputOptions(options));
  }

  async follow(signal: AbortSignal): Promise<FollowedJob> {
    const { detached } = this.#options;
    try {
      const toStop = this.#knownStop() ?? (await this.#untilEnd(signal));
      if (toStop !== undefined) await this.#stop(toStop);
      const state = await this.#settle();
      const stopReason = await this.#stopReason(state);
      if (state.kind !== "ended") return this.#withoutEnd(stopReason);
      const { pod, termination } = state;
      const written = await this.#drain(termination.message);
      // If the worker itself stopped it, the deletion is not a disruption.
      const ownPod = this.#stopped === undefined ? pod : { ...pod, isBeingDeleted: false, isGone: false };
      const { timeoutMs, clock } = this.#options;
      const nowMs = clock.now();
      const outcome = concludePod({ pod: ownPod, termination, stopReason, written, timeoutMs, nowMs });
      return { outcome, livePod: isPodOver(pod) ? undefined : pod };
    } finally {
      this.#reading.abort(detached.reason);
    }
  }

  /** The reason to stop that the launch or an earlier worker has recorded. */
  #knownStop(): StopCause | undefined {
    const { job, failure } = this.#options;
    if (failure !== undefined) {
      this.#startFailure = { class: "internal", text: failure };
      return "not-started";
    }
    const note = stopCauseOf(job);
    if (note === "not-started") this.#startFailure = parseStartFailure(job.labels[ANNOTATION.reason]);
    return note;
  }

  /** Resolves to the reason why the worker must stop the action; undefined if it has ended. */
  async #untilEnd(signal: AbortSignal): Promise<StopCause | undefined> {
    const started = await this.#untilStarted(signal);
    if (started !== "started") return started;
    const state = podState(this.#options.observation.snapshot);
    if (state.kind !== "running") return undefined;
    this.#hasRun = true;
    this.#readLog();
    return waitUntilDeadline(this.#remainingMs(state.startedAt), signal, (bound) =>
      this.#until(({ kind }) => kind === "ended" || kind === "over", bound),
    );
  }

  async #untilStarted(signal: AbortSignal): Promise<"started" | StopCause> {
    const { onProgress, startTimeoutMs } = this.#options;
    const boundMs = this.#startBoundMs();
    onProgress?.({ text: "waiting for the pod to start", limitMs: boundMs });
    let permanent: StartFailure | undefined;
    const stopReason = await waitUntilDeadline(boundMs, signal, async (bound) => {
      permanent = await this.#untilStuckOrStarted(bound);
    });
    onProgress?.(undefined);
    if (stopReason === "cancelled") return "cancelled";
    if (permanent) {
      this.#startFailure = { ...permanent, text: `the pod cannot start: ${permanent.text}` };
      return "not-started";
    }
    if (stopReason === undefined) return "started";
    const failure = await this.#describeDelay();
    const text = `the pod did not start within ${formatSeconds(startTimeoutMs)}: ${failure.text}`;
    this.#startFailure = { class: failure.class, text };
    return "not-started";
  }

  async #untilStuckOrStarted(signal: AbortSignal): Promise<StartFailure | undefined> {
    for (;;) {
      const found = await this.#until(isStartedOrStuck, signal);
      if (found.kind !== "pending" || !found.problem) return undefined;
      const { problem } = found;
      const { patienceMs = 0 } = problem;
      const hasPassed = (state: PodState) =>
        state.kind !== "pending" || state.problem?.patienceMs !== patienceMs;
      try {
        await withTimeout(patienceMs, signal, (bound) => this.#until(hasPassed, bound), this.#options.clock);
      } catch (thrown) {
        signal.throwIfAborted();
        if (thrown instanceof TimeoutReached) return problem;
        throw thrown;
      }
    }
  }

  #startBoundMs(): number {
    const { startTimeoutMs, launchedMs, clock, clockSetMs, job } = this.#options;
    if (launchedMs !== undefined) return startTimeoutMs;
    const ageMs = clock.now() - clockSetMs - job.createdMs;
    return Math.min(Math.max(startTimeoutMs - ageMs, LEAST_START_MS), startTimeoutMs);
  }

  /** The node's clock may differ from the worker's: an action cannot have run longer than since its launch. */
  #remainingMs(startedAt: Date | undefined): number {
    const { timeoutMs, launchedMs, clock, clockSetMs } = this.#options;
    if (startedAt === undefined) return timeoutMs;
    const ageMs = Math.max(0, clock.now() - clockSetMs - startedAt.getTime());
    const longestMs = launchedMs === undefined ? ageMs : clock.monotonicMs() - launchedMs;
    return timeoutMs - Math.min(ageMs, longestMs);
  }

  /** Why the pod does not start: its own reason, or the newest event's. */
  async #describeDelay(): Promise<StartFailure> {
    const { observation, client, job, clock, detached } = this.#options;
    const { pod } = observation.snapshot;
    const state = podState(observation.snapshot);
    if (state.kind === "pending" && state.problem) return state.problem;
    const warning = await client.newestWarning(pod?.uid ?? job.uid, this.#bound(EVENTS_MS));
    detached.throwIfAborted();
    if (warning) return { class: "internal", text: reasonText(warning) };
    const seconds = pod ? formatSeconds(clock.now() - pod.createdMs) : "";
    return {
      class: "internal",
      text: pod
        ? `its container has not been created after ${seconds}; kubectl describe pod ${pod.name} may show why`
        : `the cluster created no pod for it; kubectl describe job ${job.name} may show why`,
    };
  }

  /** Records the stop in the Job, then deletes the pod and waits until that is certain or takes too long. */
  async #stop(note: StopCause): Promise<void> {
    const { client, job, observation, stopGraceMs, detached } = this.#options;
    this.#stopped = note;
    const bound = this.#bound(stopGraceMs + STOP_BOUND_MS[note]);
    const failure = this.#startFailure;
    try {
      await client.end(job, note, failure ? `${failure.class}: ${failure.text}` : "", bound);
      // The watch may not show the pod's latest state yet.
      await observation.refreshPod(bound);
      await this.#removePod(bound);
    } catch (thrown) {
      detached.throwIfAborted();
      this.#stopFailure = textOf(thrown);
      return;
    }
    await this.#untilOver();
  }

  async #removePod(bound: AbortSignal): Promise<void> {
    const { client, observation, stopGraceMs, detached, log, fields } = this.#options;
    const { pod } = observation.snapshot;
    if (!pod || isPodOver(pod) || podState(observation.snapshot).kind === "ended") return;
    try {
      const graceMs = this.#output.isFlooding ? Math.min(stopGraceMs, FLOOD_GRACE_MS) : stopGraceMs;
      await client.removePod(pod, Math.max(1, Math.ceil(graceMs / 1_000)), bound);
    } catch (thrown) {
      detached.throwIfAborted();
      // The Job has ended: its controller also deletes the pod.
      const error = textOf(thrown);
      log.warn({ ...fields, pod: pod.name, error }, "pod deletion failed");
    }
  }

  async #untilOver(): Promise<void> {
    const bound = this.#bound(this.#options.stopGraceMs + STOPPED_WAIT_MS);
    await this.#unlessDetached(
      this.#until(({ kind }, { pod }) => kind === "ended" || isCertain(kind, pod), bound),
    );
  }

  /**
   * Determines the end as far as possible. Jobs and pods have separate watches, so a Job may be shown as ended before its
   * pod, which is then requested.
   */
  async #settle(): Promise<PodState> {
    const { observation, stopGraceMs } = this.#options;
    const state = podState(observation.snapshot);
    if (state.kind !== "over" || this.#stopFailure !== undefined) return state;
    await observation.refreshPod(this.#bound(stopGraceMs + STOPPED_WAIT_MS)).catch(() => undefined);
    await this.#untilOver();
    return podState(observation.snapshot);
  }

  async #stopReason(state: PodState): Promise<StopReason | undefined> {
    const own = this.#stopped;
    if (own === "timeout" || own === "cancelled") return own;
    if (own === "not-started") return undefined;
    if (state.kind === "ended" && state.pod.isBeingDeleted && state.termination.exitCode !== 0) {
      // The Job's deadline may have deleted it.
      const isEnding = ({ job }: JobSnapshot) => job === "gone" || job?.end || (job && stopCauseOf(job));
      const { observation } = this.#options;
      await this.#unlessDetached(observation.until<unknown>(isEnding, this.#bound(JOB_END_WAIT_MS)));
    }
    const job = this.#presentJob();
    const note = job && stopCauseOf(job);
    if (note === "timeout" || note === "cancelled") return note;
    return job?.end?.kind === "failed" && job.end.reason === "DeadlineExceeded" ? "timeout" : undefined;
  }

  /** Concludes the outcome without the container's status. */
  async #withoutEnd(stopReason: StopReason | undefined): Promise<FollowedJob> {
    const { client, clock, job, observation, timeoutMs } = this.#options;
    const { pod } = observation.snapshot;
    const hasRun = this.#hasRun || pod?.container.kind === "running";
    const now = new Date(clock.now());
    const livePod = isPodOver(pod) ? undefined : pod;
    if (!hasRun && (this.#startFailure || (pod && this.#stopped === "cancelled"))) {
      return { outcome: this.#neverStarted(now), livePod };
    }
    const jobSeen = this.#presentJob();
    if (jobSeen && !jobSeen.end) {
      // No other pod may replace it, whatever deleted it.
      await this.#unlessDetached(client.end(job, undefined, "", this.#bound(STOPPED_WAIT_MS)));
    }
    const written = pod ? await this.#drain("") : this.#output.end(undefined);
    const startedAt =
      pod?.container.kind === "running" ? (pod.container.startedAt ?? now) : new Date(job.createdMs || now);
    const exitCode = this.#exitCodeOfJob();
    const ending = { why: this.#whyUnknown(), exitCode, stopReason, written, timeoutMs, startedAt };
    if (!hasRun && pod && isPodOver(pod) && exitCode === undefined && stopReason === undefined) {
      const text = `it did not start: ${ending.why}`;
      return { outcome: failedLaunch("internal", text, startedAt, now), livePod };
    }
    return { outcome: concludeVanished({ ...ending, nowMs: now.getTime() }), livePod };
  }

  #neverStarted(now: Date): Outcome {
    const failure = this.#startFailure ?? { class: "cancelled", text: "cancelled before it started" };
    const { observation, job } = this.#options;
    const { pod } = observation.snapshot;
    const isCertainly =
      this.#stopFailure === undefined && isCertain(podState(observation.snapshot).kind, pod);
    const doubt = isCertainly ? "" : `; it may still start later: ${this.#whyUnknown()}`;
    return failedLaunch(failure.class, failure.text + doubt, new Date(job.createdMs || now), now);
  }

  #whyUnknown(): string {
    const { job, pod } = this.#options.observation.snapshot;
    if (this.#stopFailure !== undefined)
      return `the cluster could not be asked to stop it: ${this.#stopFailure}`;
    const disruption = pod && this.#stopped === undefined ? disruptionOf(pod) : undefined;
    if (disruption !== undefined) return disruption;
    if (pod && !isPodOver(pod)) return `its node ${pod.node ?? ""} does not confirm that it stopped`;
    if (job === "gone") return "its Job was deleted by another client";
    if (job?.end?.kind === "failed")
      return `its pod is gone, and of its Job is known: ${reasonText(job.end)}`;
    return "its pod is gone";
  }

  #exitCodeOfJob(): number | undefined {
    const job = this.#presentJob();
    const noted = job?.labels[ANNOTATION.exitCode];
    if (noted !== undefined && /^\d{1,3}$/.test(noted)) return Number(noted);
    return job?.end?.kind === "complete" ? 0 : undefined;
  }

  /** The Job; undefined if it was deleted, or if the watch does not show it yet. */
  #presentJob(): ObservedJob | undefined {
    const { job } = this.#options.observation.snapshot;
    return job === "gone" ? undefined : job;
  }

  /** Aborts after `ms`, or when the worker detaches. */
  #bound(ms: number): AbortSignal {
    return AbortSignal.any([AbortSignal.timeout(ms), this.#options.detached]);
  }

  /** Waits for work that may fail. Rejects only when the worker detaches. */
  async #unlessDetached(work: Promise<unknown>): Promise<void> {
    await work.catch(() => undefined);
    this.#options.detached.throwIfAborted();
  }

  #readLog(): void {
    const { observation, clock, onLogForbidden } = this.#options;
    const source = this.#logSource();
    if (this.#log || !source) return;
    const isOver = () => podState(observation.snapshot).kind === "ended";
    const options = { ...source, isOver, onForbidden: onLogForbidden, clock };
    this.#log = followLog(options, this.#reading.signal);
  }

  #logSource(): LogSource | undefined {
    const { cluster, observation } = this.#options;
    const { pod } = observation.snapshot;
    if (!pod) return undefined;
    return { cluster, pod: { namespace: cluster.namespace, name: pod.name }, output: this.#output };
  }

  /** Reads the rest of the output. Returns it, confirmed by the termination message. */
  async #drain(terminationMessage: string): Promise<WrittenOutput> {
    this.#readLog();
    const { detached } = this.#options;
    this.#output.stream.throttle.skipPauses();
    const isWhole = await this.#drained(async () => this.#log);
    this.#reading.abort(new Error("the action has ended"));
    await this.#log;
    detached.throwIfAborted();
    const source = this.#logSource();
    if (!isWhole && source) await this.#drained((bound) => readTail(source, bound));
    detached.throwIfAborted();
    return this.#output.end(terminationResult(terminationMessage));
  }

  /** Limits the time for reading; a flooding action gets less. */
  async #drained(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const boundMs = this.#output.isFlooding ? FLOOD_DRAIN_MS : DRAIN_MS;
    return withTimeout(boundMs, this.#options.detached, work).then(
      () => true,
      () => false,
    );
  }

  #until(judge: (state: PodState, snapshot: JobSnapshot) => boolean, signal: AbortSignal): Promise<PodState> {
    const { observation, detached } = this.#options;
    return observation.until(
      (snapshot) => {
        const state = podState(snapshot);
        return judge(state, snapshot) ? state : undefined;
      },
      AbortSignal.any([signal, detached]),
    );
  }
}

function isStartedOrStuck(state: PodState): boolean {
  return state.kind !== "pending" || state.problem?.patienceMs !== undefined;
}

/** Whether nothing of the action runs or will run: its pod has ended, or its Job has ended and there is no pod. */
function isCertain(kind: PodState["kind"], pod: JobSnapshot["pod"]): boolean {
  return pod === undefined ? kind === "over" : isPodOver(pod);
}

function parseStartFailure(note: string | undefined): StartFailure {
  const [, name, text] = /^([a-z]+): (.+)$/s.exec(note ?? "") ?? [];
  const parsed = ErrorClass.safeParse(name);
  if (parsed.success && text !== undefined) return { class: parsed.data, text };
  return { class: "internal", text: "the pod did not start in its time" };
}
