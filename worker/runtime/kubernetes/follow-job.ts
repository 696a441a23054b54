import type { Clock } from "../../../shared/clock.ts";
import { ErrorClass } from "../../../shared/contract/error-class.ts";
import { type StopReason, waitUntilDeadline } from "../../../shared/deadline.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import type { Outcome } from "../../action/action.ts";
import type { Cluster } from "../../cluster/client/cluster.ts";
import { FLOOD_GRACE_MS, type WrittenOutput } from "../log-stream.ts";
import { failedLaunch } from "../outcome.ts";
import { type OutputTerms, outputTerms } from "../runtime.ts";
import { concludePod, concludeVanished, terminationResult } from "./ended-pod.ts";
import { followLog, readTail } from "./follow-log.ts";
import type { JobCalls } from "./job-calls.ts";
import { NOTE } from "./marks.ts";
import { PodOutput } from "./pod-output.ts";
import { isPodOver, type PodState, podState } from "./pod-state.ts";
import { disruptionOf, reasonText } from "./pod-words.ts";
import { type SeenJob, type SeenPod, type StopNote, stopNoteOf } from "./seen.ts";
import type { JobObservation, Sight } from "./watched-jobs.ts";

/** How long the rest of the log may take to arrive once the container has ended. */
const DRAIN_MS = 5_000;
/** The same where more came than is taken; then for the last lines alone. */
const FLOOD_DRAIN_MS = 500;
/** How long a pod may take to be gone once its grace is over. */
const STOPPED_WAIT_MS = 30_000;
/** How long an API that is away is asked to end an action. */
const STOP_BOUND_MS: Readonly<Record<StopNote, number>> = {
  timeout: 600_000,
  "not-started": 120_000,
  cancelled: 60_000,
};
/** How long a Job may take to say why its pod was deleted. */
const JOB_END_WAIT_MS = 5_000;
/** An adopted Job whose start bound is over is looked at for so long nevertheless. */
const LEAST_START_MS = 5_000;
const EVENTS_MS = 10_000;

export interface FollowOptions extends OutputTerms {
  readonly cluster: Cluster;
  readonly calls: JobCalls;
  readonly job: SeenJob;
  readonly observation: JobObservation;
  readonly timeoutMs: number;
  readonly startTimeoutMs: number;
  readonly stopGraceMs: number;
  /** By the monotonic clock, when it was let run; absent for one that was found. */
  readonly launchedMs?: number;
  /** How far the wall clock was set forward since its start. */
  readonly clockSetMs: number;
  /** Why it must not run although it may have been let. */
  readonly failure?: string;
  /** Called when its log cannot be read for want of a right. */
  readonly onLogForbidden: (reason: string) => void;
  /** Aborts when the worker lets go of the Job, which then runs on to be adopted. */
  readonly detached: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The end of a Job's action. */
export interface FollowedJob {
  readonly outcome: Outcome;
  /** Its pod, where something else in it still runs. */
  readonly livePod: SeenPod | undefined;
}

/** Why it is not, or must not be, started. */
interface StartFailure {
  readonly class: ErrorClass;
  readonly text: string;
}

/**
 * Follows a Job that was let run to the end of its action, stops it when it does not start within its bound, when its time
 * is over or when `signal` aborts, and gathers what it wrote. Rejects with the reason of `detached` alone.
 */
export async function followJob(options: FollowOptions, signal: AbortSignal): Promise<FollowedJob> {
  return new JobFollower(options).follow(signal);
}

class JobFollower {
  readonly #options: FollowOptions;
  readonly #output: PodOutput;
  readonly #reading = new AbortController();
  #log: Promise<void> | undefined;
  /** The worker ended it, for this. */
  #stopped: StopNote | undefined;
  #startFailure: StartFailure | undefined;
  #hasRun = false;
  /** Why the API could not be asked to end it. */
  #stopFailure: string | undefined;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#output = new PodOutput(outputTerms(options));
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
      // What the worker ended before it knew of its start was not deleted by somebody.
      const ownPod = this.#stopped === undefined ? pod : { ...pod, isBeingDeleted: false, isGone: false };
      const { timeoutMs, clock } = this.#options;
      const nowMs = clock.now();
      const outcome = concludePod({ pod: ownPod, termination, stopReason, written, timeoutMs, nowMs });
      return { outcome, livePod: isPodOver(pod) ? undefined : pod };
    } finally {
      this.#reading.abort(detached.reason);
    }
  }

  /** What a worker before, or the launch, decided already. */
  #knownStop(): StopNote | undefined {
    const { job, failure } = this.#options;
    if (failure !== undefined) {
      this.#startFailure = { class: "internal", text: failure };
      return "not-started";
    }
    const note = stopNoteOf(job);
    if (note === "not-started") this.#startFailure = parseStartFailure(job.marks[NOTE.reason]);
    return note;
  }

  /** Resolves to why the worker must end it; undefined when it has ended, or its end is to be looked for. */
  async #untilEnd(signal: AbortSignal): Promise<StopNote | undefined> {
    const started = await this.#untilStarted(signal);
    if (started !== "started") return started;
    const state = podState(this.#options.observation.sight);
    if (state.kind !== "running") return undefined;
    this.#hasRun = true;
    this.#readLog();
    return waitUntilDeadline(this.#remainingMs(state.startedAt), signal, (bound) =>
      this.#until(({ kind }) => kind === "ended" || kind === "over", bound),
    );
  }

  async #untilStarted(signal: AbortSignal): Promise<"started" | StopNote> {
    const { startTimeoutMs } = this.#options;
    const boundMs = this.#startBoundMs();
    let hopeless: StartFailure | undefined;
    const stopReason = await waitUntilDeadline(boundMs, signal, async (bound) => {
      hopeless = await this.#untilHopelessOrStarted(bound);
    });
    if (stopReason === "cancelled") return "cancelled";
    if (hopeless) {
      this.#startFailure = { ...hopeless, text: `the pod cannot start: ${hopeless.text}` };
      return "not-started";
    }
    if (stopReason === undefined) return "started";
    const failure = await this.#describeDelay();
    const text = `the pod did not start within ${formatSeconds(startTimeoutMs)}: ${failure.text}`;
    this.#startFailure = { class: failure.class, text };
    return "not-started";
  }

  async #untilHopelessOrStarted(signal: AbortSignal): Promise<StartFailure | undefined> {
    for (;;) {
      const found = await this.#until(isStartedOrHopeless, signal);
      if (found.kind !== "pending" || !found.problem) return undefined;
      const { problem } = found;
      const patience = new AbortController();
      const bound = AbortSignal.any([signal, patience.signal]);
      const passed = this.#until((state) => !isStartedOrHopelessAs(state, found), bound).then(() => true);
      const { clock } = this.#options;
      const waited = clock.sleep(problem.patienceMs ?? 0, bound).then(() => false);
      try {
        if (!(await Promise.race([passed, waited]))) return problem;
      } finally {
        patience.abort(new Error("waited"));
        await Promise.allSettled([passed, waited]);
      }
    }
  }

  #startBoundMs(): number {
    const { startTimeoutMs, launchedMs, clock, clockSetMs, job } = this.#options;
    if (launchedMs !== undefined) return startTimeoutMs;
    const ageMs = clock.now() - clockSetMs - job.createdMs;
    return Math.min(Math.max(startTimeoutMs - ageMs, LEAST_START_MS), startTimeoutMs);
  }

  /** The node's clock may be set otherwise than the worker's: no action has run for longer than it was let. */
  #remainingMs(startedAt: Date | undefined): number {
    const { timeoutMs, launchedMs, clock, clockSetMs } = this.#options;
    if (startedAt === undefined) return timeoutMs;
    const ageMs = Math.max(0, clock.now() - clockSetMs - startedAt.getTime());
    const longestMs = launchedMs === undefined ? ageMs : clock.monotonicMs() - launchedMs;
    return timeoutMs - Math.min(ageMs, longestMs);
  }

  /** What the pod says, else what the newest event does. */
  async #describeDelay(): Promise<StartFailure> {
    const { observation, calls, job, clock, detached } = this.#options;
    const { pod } = observation.sight;
    const state = podState(observation.sight);
    if (state.kind === "pending" && state.problem) return state.problem;
    const bound = AbortSignal.any([AbortSignal.timeout(EVENTS_MS), detached]);
    const warning = await calls.newestWarning(pod?.uid ?? job.uid, bound);
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

  /** Ends the Job on record first, then its pod at once, and waits until that is certain, or for as long as it may take. */
  async #stop(note: StopNote): Promise<void> {
    const { calls, job, observation, stopGraceMs, detached } = this.#options;
    this.#stopped = note;
    const bound = AbortSignal.any([AbortSignal.timeout(stopGraceMs + STOP_BOUND_MS[note]), detached]);
    const failure = this.#startFailure;
    try {
      await calls.end(job, note, failure ? `${failure.class}: ${failure.text}` : "", bound);
      // It may have ended, or be there, without the watch having told so yet.
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
    const { calls, observation, stopGraceMs, detached, log, fields } = this.#options;
    const { pod } = observation.sight;
    if (!pod || isPodOver(pod) || podState(observation.sight).kind === "ended") return;
    try {
      const graceMs = this.#output.isFlooding ? Math.min(stopGraceMs, FLOOD_GRACE_MS) : stopGraceMs;
      await calls.removePod(pod, Math.max(1, Math.ceil(graceMs / 1_000)), bound);
    } catch (thrown) {
      detached.throwIfAborted();
      // The Job has ended: its controller takes the pod away as well.
      const error = textOf(thrown);
      log.warn({ ...fields, pod: pod.name, error }, "pod deletion failed");
    }
  }

  /** Until nothing of the action runs, or its grace and more are over. */
  async #untilOver(): Promise<void> {
    const { stopGraceMs, detached } = this.#options;
    const bound = AbortSignal.any([AbortSignal.timeout(stopGraceMs + STOPPED_WAIT_MS), detached]);
    await this.#until(({ kind }, { pod }) => kind === "ended" || isCertain(kind, pod), bound).catch(
      () => undefined,
    );
    detached.throwIfAborted();
  }

  /**
   * The end as far as it can be known. The watches of Jobs and pods are two: a Job that has ended may be told of before its
   * pod, which is then asked for.
   */
  async #settle(): Promise<PodState> {
    const { observation, stopGraceMs, detached } = this.#options;
    const state = podState(observation.sight);
    if (state.kind !== "over" || this.#stopFailure !== undefined) return state;
    const bound = AbortSignal.any([AbortSignal.timeout(stopGraceMs + STOPPED_WAIT_MS), detached]);
    await observation.refreshPod(bound).catch(() => undefined);
    await this.#untilOver();
    return podState(observation.sight);
  }

  async #stopReason(state: PodState): Promise<StopReason | undefined> {
    const own = this.#stopped;
    if (own === "timeout" || own === "cancelled") return own;
    if (own === "not-started") return undefined;
    const { observation, detached } = this.#options;
    if (state.kind === "ended" && state.pod.isBeingDeleted && state.termination.exitCode !== 0) {
      // Its deadline may have been what deleted it.
      const bound = AbortSignal.any([AbortSignal.timeout(JOB_END_WAIT_MS), detached]);
      await observation
        .until(({ job }) => (job === "gone" || job?.end || (job && stopNoteOf(job))) as unknown, bound)
        .catch(() => undefined);
      detached.throwIfAborted();
    }
    const { job } = observation.sight;
    if (job === undefined || job === "gone") return undefined;
    const note = stopNoteOf(job);
    if (note === "timeout" || note === "cancelled") return note;
    return job.end?.kind === "failed" && job.end.reason === "DeadlineExceeded" ? "timeout" : undefined;
  }

  /** No status of its container is to be had. */
  async #withoutEnd(stopReason: StopReason | undefined): Promise<FollowedJob> {
    const { calls, clock, job, detached, observation, timeoutMs } = this.#options;
    const { pod } = observation.sight;
    const hasRun = this.#hasRun || pod?.container.kind === "running";
    const now = new Date(clock.now());
    const livePod = isPodOver(pod) ? undefined : pod;
    if (!hasRun && (this.#startFailure || (pod && this.#stopped === "cancelled"))) {
      return { outcome: this.#neverStarted(now), livePod };
    }
    const jobSeen = observation.sight.job;
    if (jobSeen !== undefined && jobSeen !== "gone" && !jobSeen.end) {
      // Whatever took the pod away, no other may be made in its place.
      const bound = AbortSignal.any([AbortSignal.timeout(STOPPED_WAIT_MS), detached]);
      await calls.end(job, undefined, "", bound).catch(() => undefined);
      detached.throwIfAborted();
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
    const { pod } = observation.sight;
    const isCertainly = this.#stopFailure === undefined && isCertain(podState(observation.sight).kind, pod);
    const doubt = isCertainly ? "" : `; that it does not start later is not certain: ${this.#whyUnknown()}`;
    return failedLaunch(failure.class, failure.text + doubt, new Date(job.createdMs || now), now);
  }

  #whyUnknown(): string {
    const { job, pod } = this.#options.observation.sight;
    if (this.#stopFailure !== undefined)
      return `the cluster could not be asked to stop it: ${this.#stopFailure}`;
    const disruption = pod && this.#stopped === undefined ? disruptionOf(pod) : undefined;
    if (disruption !== undefined) return disruption;
    if (pod && !isPodOver(pod)) return `its node ${pod.node ?? ""} does not confirm that it stopped`;
    if (job === "gone") return "its Job was deleted by somebody";
    if (job?.end?.kind === "failed")
      return `its pod is gone, and of its Job is known: ${reasonText(job.end)}`;
    return "its pod is gone";
  }

  #exitCodeOfJob(): number | undefined {
    const { job } = this.#options.observation.sight;
    if (job === undefined || job === "gone") return undefined;
    const noted = job.marks[NOTE.exitCode];
    if (noted !== undefined && /^\d{1,3}$/.test(noted)) return Number(noted);
    return job.end?.kind === "complete" ? 0 : undefined;
  }

  #readLog(): void {
    const { cluster, observation, clock, onLogForbidden } = this.#options;
    const { pod } = observation.sight;
    if (this.#log || !pod) return;
    this.#log = followLog(
      {
        cluster,
        pod: { namespace: cluster.namespace, name: pod.name },
        output: this.#output,
        isOver: () => podState(observation.sight).kind === "ended",
        onForbidden: onLogForbidden,
        clock,
      },
      this.#reading.signal,
    );
  }

  /** What it wrote, with what its last words confirm. */
  async #drain(lastWords: string): Promise<WrittenOutput> {
    this.#readLog();
    const { detached } = this.#options;
    this.#output.hurry();
    const isWhole = await this.#within(DRAIN_MS, async () => this.#log);
    this.#reading.abort(new Error("the action has ended"));
    await this.#log;
    detached.throwIfAborted();
    if (!isWhole) await this.#readTail();
    detached.throwIfAborted();
    return this.#output.end(terminationResult(lastWords));
  }

  /** How long of a log that is longer than what can be read in time is read, by how much it is. */
  async #within(ms: number, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const boundMs = this.#output.isFlooding ? FLOOD_DRAIN_MS : ms;
    return withTimeout(boundMs, this.#options.detached, work).then(
      () => true,
      () => false,
    );
  }

  async #readTail(): Promise<void> {
    const { cluster, observation } = this.#options;
    const { pod } = observation.sight;
    if (!pod) return;
    const what = { cluster, pod: { namespace: cluster.namespace, name: pod.name }, output: this.#output };
    await this.#within(DRAIN_MS, (bound) => readTail(what, bound));
  }

  #until(judge: (state: PodState, sight: Sight) => boolean, signal: AbortSignal): Promise<PodState> {
    const { observation, detached } = this.#options;
    return observation.until(
      (sight) => {
        const state = podState(sight);
        return judge(state, sight) ? state : undefined;
      },
      AbortSignal.any([signal, detached]),
    );
  }
}

function isStartedOrHopeless(state: PodState): boolean {
  return state.kind !== "pending" || state.problem?.patienceMs !== undefined;
}

/** Whether a container still waits for the same hopeless thing. */
function isStartedOrHopelessAs(state: PodState, before: PodState): boolean {
  return (
    state.kind === "pending" &&
    before.kind === "pending" &&
    state.problem?.patienceMs !== undefined &&
    state.problem.patienceMs === before.problem?.patienceMs
  );
}

/** Whether nothing of it runs or will: with a pod, that is over; without one, its Job has ended. */
function isCertain(kind: PodState["kind"], pod: Sight["pod"]): boolean {
  return pod === undefined ? kind === "over" : isPodOver(pod);
}

function parseStartFailure(note: string | undefined): StartFailure {
  const [, name, text] = /^([a-z]+): (.+)$/s.exec(note ?? "") ?? [];
  const parsed = ErrorClass.safeParse(name);
  if (parsed.success && text !== undefined) return { class: parsed.data, text };
  return { class: "internal", text: "the pod did not start in its time" };
}
