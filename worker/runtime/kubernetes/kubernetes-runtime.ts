import { randomBytes, randomUUID } from "node:crypto";
import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { ActionId } from "../../action/action.ts";
import { fieldsOf } from "../../action/action-status.ts";
import { bootTime } from "../../action/boot-time.ts";
import type { Cluster } from "../../cluster/client/cluster.ts";
import { isKubernetesError, KubernetesError } from "../../cluster/client/kubernetes-error.ts";
import { findMissingRights, type MissingRight } from "../../cluster/client/missing-rights.ts";
import { launchName } from "../launch-name.ts";
import type { Need } from "../leftover.ts";
import { failedLaunch, nothingLeft } from "../outcome.ts";
import {
  type Adoption,
  Detached,
  type EndedAction,
  LaunchNotRecorded,
  type LaunchRequest,
  NotLaunched,
  type OutputTerms,
  outputTerms,
  type ReturnedAction,
  type Runtime,
} from "../runtime.ts";
import { type FollowedJob, followJob } from "./follow-job.ts";
import { JobCalls } from "./job-calls.ts";
import { connectionSecret, jobManifest, type PodConfig } from "./job-manifest.ts";
import { LaunchFailure } from "./launch-failure.ts";
import { isLeftJob } from "./leftovers.ts";
import { isMadeFor, MARK, type Marks, marksOf, NOTE } from "./marks.ts";
import { refusal } from "./refused-fields.ts";
import { RIGHTS } from "./rights.ts";
import type { SeenJob } from "./seen.ts";
import { requireVersion } from "./server-version.ts";
import { WatchedJobs } from "./watched-jobs.ts";

/** A name that was taken may be free a moment later; more than a few times in a row is a defect. */
const LAUNCH_ATTEMPTS = 5;
const CLEAN_UP_MS = 60_000;
const RIGHTS_STAND_MS = 10 * 60_000;
/** A Job may go as slowly as its pod does. */
const REMOVAL_SLACK_MS = 60_000;
/** An API that does not answer may be starting, as after a reboot, together with this worker. */
const FIND_AGAIN: Backoff = { firstMs: 500, maxMs: 10_000 };

export interface KubernetesRuntimeOptions {
  readonly cluster: Cluster;
  readonly pods: PodConfig;
  /** The ID of the state directory, or the share group. */
  readonly owner: string;
  /** Whether other workers have the same owner. */
  readonly shared: boolean;
  readonly log: Logger;
  readonly clock?: Clock;
  /** How long an action may clean up after SIGTERM. */
  readonly stopGraceMs: number;
  /** Of this process alone. */
  readonly instance?: string;
  /** Whether running the action of an image a second time leaves the machine as after the first. */
  readonly isIdempotent?: (image: string) => Promise<boolean>;
}

/** What following a Job to its end takes, whoever launched it. */
type Followed = Pick<LaunchRequest, "timeoutMs"> &
  OutputTerms &
  Partial<Pick<ReturnedAction, "clockSetMs">> & { readonly action: ActionId };

/** A Job of the action at hand: suspended and ready to be let run, or let run before. */
type Claim =
  | { readonly kind: "suspended"; readonly job: SeenJob }
  | { readonly kind: "adopted"; readonly job: SeenJob };

/**
 * Runs each action in a Job of its own. The Job's name comes from the workflow and the action, so the API itself makes sure
 * that an action is launched once, by whichever worker: one that comes second finds the name taken, and goes on with what
 * is there. A Job is made suspended and let run once it is on record; from then on it is never let run again.
 */
export class KubernetesRuntime implements Runtime {
  readonly name = "kubernetes";
  readonly secretNamespace: string;
  readonly #options: KubernetesRuntimeOptions;
  readonly #clock: Clock;
  readonly #calls: JobCalls;
  readonly #watched: WatchedJobs;
  readonly #instance: string;
  readonly #closing = new AbortController();
  #saidLogForbidden = false;
  /** What was found last, where it suffices. */
  #rights: { readonly missing: readonly MissingRight[]; readonly atMs: number } | undefined;

  constructor(options: KubernetesRuntimeOptions) {
    const { cluster, log, clock = systemClock, instance = randomUUID() } = options;
    this.secretNamespace = cluster.namespace;
    this.#options = options;
    this.#clock = clock;
    this.#instance = instance;
    this.#calls = new JobCalls(cluster, clock);
    this.#watched = new WatchedJobs({ cluster, clock, log });
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const askedAt = new Date(this.#clock.now());
    const bound = AbortSignal.any([signal, this.#closing.signal]);
    try {
      const refused = refusal(request);
      if (refused !== undefined) throw new LaunchFailure("usage", refused);
      for (let attempt = 0; attempt < LAUNCH_ATTEMPTS; attempt++) {
        const ended = await this.#launch(request, signal, bound);
        if (ended) return ended;
      }
      throw new LaunchFailure("state", `the Job ${launchName(request.action)} is deleted again and again`);
    } catch (thrown) {
      if (thrown instanceof NotLaunched) throw thrown;
      this.#closing.signal.throwIfAborted();
      if (thrown instanceof LaunchNotRecorded) throw thrown;
      const [errorClass, reason] = failureOf(thrown, signal);
      return nothingLeft(failedLaunch(errorClass, reason, askedAt, new Date(this.#clock.now())));
    }
  }

  async adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const job = await this.#findStarted(left, signal);
    if (job === "never-started") return { kind: "not-launched" };
    if (job === undefined) {
      return {
        kind: "lost",
        reason: "the worker was restarted, and the action's Job is gone",
        idempotent: (await this.#options.isIdempotent?.(left.action.image)) ?? false,
      };
    }
    try {
      return { kind: "ended", ended: await this.#adopt(job, left, signal) };
    } catch (thrown) {
      this.#closing.signal.throwIfAborted();
      const [errorClass, reason] = failureOf(thrown, signal);
      const now = new Date(this.#clock.now());
      return { kind: "ended", ended: nothingLeft(failedLaunch(errorClass, reason, left.startedAt, now)) };
    }
  }

  /** Secrets that were made for Jobs go with them: to look for others the worker would have to be able to read all. */
  async sweep(keep: (key: string) => Need, signal: AbortSignal): Promise<number> {
    const { owner, shared } = this.#options;
    const jobs = await this.#calls.list(signal);
    const sweeper = {
      ...{ owner, instance: this.#instance, keep, nowMs: this.#clock.now(), bootTime: bootTime() },
      // What another worker of the group has at hand is not known here.
      ...(shared ? {} : { state: owner }),
    };
    const leftovers = jobs.filter((job) => !job.isBeingDeleted && isLeftJob(job, sweeper));
    for (const job of leftovers) {
      await this.#discard(job, async () => {
        await this.#calls.remove(job, cleanUpSignal());
        await this.#removeSecret(job);
      });
    }
    return leftovers.length;
  }

  async check(signal: AbortSignal): Promise<string> {
    const { cluster } = this.#options;
    const version = requireVersion(await cluster.version(signal));
    const { namespace: own } = cluster;
    const missing = await this.#missingRights(signal);
    const needed = missing.filter(({ right }) => right.without === undefined).map(({ text }) => text);
    if (needed.length > 0) {
      const text = `the worker may not ${needed.join(", ")}: grant it with a Role and a RoleBinding`;
      throw new KubernetesError("forbidden", text);
    }
    const useful = missing.filter(({ right }) => right.without !== undefined).map(({ text }) => text);
    const without = useful.length === 0 ? "" : `, without the right to ${useful.join(", ")}`;
    return `Kubernetes ${version} at ${cluster.server}, namespace ${own}${without}`;
  }

  /** Probes ask often, and rights that are there rarely go. */
  async #missingRights(signal: AbortSignal): Promise<readonly MissingRight[]> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#rights && nowMs - this.#rights.atMs < RIGHTS_STAND_MS) return this.#rights.missing;
    const { cluster } = this.#options;
    const scopes = { own: cluster.namespace, watched: cluster.namespace };
    const missing = await findMissingRights(cluster, RIGHTS, scopes, signal);
    const isUsable = missing.every(({ right }) => right.without !== undefined);
    this.#rights = isUsable ? { missing, atMs: nowMs } : undefined;
    return missing;
  }

  /** Leaves Jobs that still run as they are: whichever worker is served their actions next adopts them. */
  detach(): void {
    this.#closing.abort(new Detached());
  }

  async close(): Promise<void> {
    this.detach();
    this.#watched.close();
  }

  /** Undefined when its Job went away before it was let run, and so nothing was done. */
  async #launch(
    request: LaunchRequest,
    signal: AbortSignal,
    bound: AbortSignal,
  ): Promise<EndedAction | undefined> {
    const { namespace } = this.#options.cluster;
    const { action } = request;
    const claim = await this.#claim(request, bound);
    if (!claim) return undefined;
    const { job } = claim;
    const handle = { job: job.name, uid: job.uid, namespace };
    if (claim.kind === "adopted") {
      // It runs already: going on with it is right, whether that can be written down or not.
      await request.onLaunch?.(handle).catch(() => undefined);
      return this.#adopt(job, request, signal);
    }
    try {
      await this.#handOver(job, request, bound);
      await request.onLaunch?.(handle);
      bound.throwIfAborted();
    } catch (thrown) {
      // Where another worker of the group has let it run meanwhile, it goes on there.
      let isGone = false;
      await this.#discard(
        job,
        async () => {
          isGone = await this.#removeSuspended(job, cleanUpSignal());
        },
        action,
      );
      if (isGone && this.#closing.signal.aborted) throw new NotLaunched("the worker detached before");
      throw thrown;
    }
    const launchedMs = this.#clock.monotonicMs();
    let failure: string | undefined;
    try {
      const { startTimeoutMs } = this.#options.pods;
      const asked = AbortSignal.any([bound, AbortSignal.timeout(startTimeoutMs)]);
      if (!(await this.#calls.unsuspend(job, asked))) return undefined;
    } catch (thrown) {
      this.#closing.signal.throwIfAborted();
      failure = `it could not be started: ${failureOf(thrown, signal)[1]}`;
    }
    return this.#follow(job, { launchedMs, ...(failure !== undefined && { failure }) }, request, signal);
  }

  /** Creates the action's Job, or finds the one that is there. Undefined when that is gone meanwhile. */
  async #claim(request: LaunchRequest, signal: AbortSignal): Promise<Claim | undefined> {
    const { pods, owner, stopGraceMs, shared } = this.#options;
    const { action, timeoutMs } = request;
    const name = launchName(action);
    const launch = randomBytes(4).toString("hex");
    const overMs = pods.startTimeoutMs + timeoutMs + stopGraceMs;
    const marks = marksOf(action, { owner, instance: this.#instance, launch }, overMs, this.#clock.now());
    const secret = request.connection && !request.mounted ? `${name}-${launch}` : undefined;
    const terms = { pods, marks, stopGraceMs, ...(secret !== undefined && { secret }) };
    const created = await this.#calls.create(jobManifest(request, terms), signal);
    if (created) return { kind: "suspended", job: created };
    const job = await this.#calls.find(name, signal);
    if (!job) return undefined;
    if (!isMadeFor(action, job.marks)) {
      const text = `a Job named ${name} exists that was not made for this action: remove it`;
      throw new LaunchFailure("state", text);
    }
    if (job.suspended) {
      const isUsable = job.marks[MARK.launch] === launch || (shared && isAlike(job, secret));
      if (isUsable && !job.isBeingDeleted) return { kind: "suspended", job };
      // Never let run, so nothing was done; what it says of the machine may be old.
      if (await this.#calls.removeAsSeen(job, signal)) await this.#untilGone(job, signal);
      return undefined;
    }
    // What ended under an ID that may return belongs to a workflow of before.
    if (action.idMayReturn && (job.end || job.marks[NOTE.acknowledged] !== undefined)) {
      await this.#calls.remove(job, signal);
      await this.#untilGone(job, signal);
      return undefined;
    }
    return { kind: "adopted", job };
  }

  /** Makes the Secret that the pod is to have, if any. */
  async #handOver(job: SeenJob, { action, connection }: LaunchRequest, signal: AbortSignal): Promise<void> {
    const secret = job.marks[MARK.secret];
    if (secret === undefined || !connection) return;
    const marks: Marks = { labels: { [MARK.key]: job.marks[MARK.key] ?? "" }, annotations: {} };
    try {
      await this.#calls.createSecret(connectionSecret(secret, job, marks, connection), signal);
    } catch (thrown) {
      if (!(thrown instanceof KubernetesError) || thrown.reason !== "forbidden") throw thrown;
      const machine = connection.machine ?? action.name;
      const text = `the connection of ${machine} cannot be handed over: ${thrown.message}; put its Secret into ${this.secretNamespace}, or grant the worker create and delete of secrets there`;
      throw new LaunchFailure("internal", text);
    }
  }

  /** The Job of an action of before, if it was let run; undefined when it was and is gone. */
  async #findStarted(
    left: ReturnedAction,
    signal: AbortSignal,
  ): Promise<SeenJob | "never-started" | undefined> {
    for (;;) {
      const job = await this.#find(left, signal);
      // The launch is on record before the Job is let run: without a handle it was not.
      if (!job || !isMadeFor(left.action, job.marks)) {
        return left.handle || left.damaged ? undefined : "never-started";
      }
      if (!job.suspended) return job;
      if (await this.#removeSuspended(job, signal)) return "never-started";
    }
  }

  /** The Job of an action of before; asks until the API answers. Rejects when the signal aborts. */
  async #find({ action }: ReturnedAction, signal: AbortSignal): Promise<SeenJob | undefined> {
    const { log } = this.#options;
    const bound = AbortSignal.any([signal, this.#closing.signal]);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#calls.find(launchName(action), bound);
      } catch (thrown) {
        bound.throwIfAborted();
        const error = textOf(thrown);
        logOutage(log, attempt === 1, { ...fieldsOf(action), error }, "cluster not responding, retrying");
      }
      await this.#clock.sleep(backoffMs(FIND_AGAIN, attempt), bound);
    }
  }

  /** False when it was let run meanwhile, by a worker that died or by another one. */
  async #removeSuspended(job: SeenJob, signal: AbortSignal): Promise<boolean> {
    for (let seen: SeenJob | undefined = job; seen; seen = await this.#calls.find(job.name, signal)) {
      if (seen.uid !== job.uid) return true;
      if (!seen.suspended) return false;
      if (await this.#calls.removeAsSeen(seen, signal)) {
        await this.#removeSecret(seen);
        return true;
      }
    }
    return true;
  }

  async #untilGone(job: SeenJob, signal: AbortSignal): Promise<void> {
    if ((await this.#calls.find(job.name, signal))?.uid !== job.uid) return;
    const observation = this.#watched.observe(job);
    const waitMs = this.#options.stopGraceMs + REMOVAL_SLACK_MS;
    const bound = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
    try {
      await observation.until(({ job: seen }) => (seen === "gone" ? true : undefined), bound);
    } catch {
      signal.throwIfAborted();
      throw new LaunchFailure(
        "state",
        `the Job ${job.name} of a run before is being deleted and does not go`,
      );
    } finally {
      observation.release();
    }
  }

  async #adopt(job: SeenJob, request: Followed, signal: AbortSignal): Promise<EndedAction> {
    const status = job.end?.kind ?? "active";
    this.#options.log.info({ ...fieldsOf(request.action), job: job.name, status }, "action adopted");
    return this.#follow(job, {}, request, signal);
  }

  async #follow(
    job: SeenJob,
    launch: { readonly launchedMs?: number; readonly failure?: string },
    { action, timeoutMs, clockSetMs = 0, ...output }: Followed,
    signal: AbortSignal,
  ): Promise<EndedAction> {
    const { cluster, log, stopGraceMs, pods } = this.#options;
    const observation = this.#watched.observe(job);
    try {
      const followed = await followJob(
        {
          ...{ cluster, calls: this.#calls, job, observation, timeoutMs, stopGraceMs, clockSetMs },
          ...outputTerms(output),
          ...{ startTimeoutMs: pods.startTimeoutMs, clock: this.#clock, log, fields: fieldsOf(action) },
          ...launch,
          detached: this.#closing.signal,
          onLogForbidden: (reason) => this.#sayLogForbidden(reason),
        },
        signal,
      );
      return {
        outcome: followed.outcome,
        remove: (bound) => this.#acknowledge(job, followed, bound),
      };
    } finally {
      observation.release();
    }
  }

  /**
   * The Job stays for a while after its report: a server may still serve its action out of a cache, maybe to another worker,
   * which must find it. What holds the connection goes at once.
   */
  async #acknowledge(job: SeenJob, { outcome, livePod }: FollowedJob, signal: AbortSignal): Promise<void> {
    const { exitCode } = outcome;
    // Its own container has ended a while ago: what still runs would for ever.
    const isLive = livePod !== undefined && (await this.#calls.isRunning(livePod, signal));
    await this.#calls.acknowledge(job, { exitCode, end: isLive }, signal);
    // The Job's controller takes the pod away as well, where the worker has no right to.
    if (isLive) await this.#calls.removePod(livePod, undefined, signal).catch(ignoreForbidden);
    const secret = job.marks[MARK.secret];
    if (secret !== undefined) await this.#calls.removeSecret(secret, signal);
  }

  #sayLogForbidden(error: string): void {
    if (this.#saidLogForbidden) return;
    this.#saidLogForbidden = true;
    this.#options.log.warn({ error }, "action logs unavailable");
  }

  async #removeSecret(job: SeenJob): Promise<void> {
    const secret = job.marks[MARK.secret];
    if (secret !== undefined) await this.#calls.removeSecret(secret, cleanUpSignal());
  }

  /** Takes away a Job that is nobody's any more. */
  async #discard(job: SeenJob, remove: () => Promise<unknown>, action?: ActionId): Promise<void> {
    try {
      await remove();
    } catch (thrown) {
      const error = textOf(thrown);
      const about = action ? fieldsOf(action) : {};
      this.#options.log.warn({ ...about, job: job.name, error }, "Job deletion failed");
    }
  }
}

/** Whether a Job that another worker made can be let run with what this one has. */
function isAlike(job: SeenJob, secret: string | undefined): boolean {
  return (job.marks[MARK.secret] === undefined) === (secret === undefined);
}

function ignoreForbidden(thrown: unknown): void {
  if (!isKubernetesError(thrown, "forbidden")) throw thrown;
}

function cleanUpSignal(): AbortSignal {
  return AbortSignal.timeout(CLEAN_UP_MS);
}

function failureOf(thrown: unknown, signal: AbortSignal): readonly [ErrorClass, string] {
  if (thrown instanceof LaunchFailure) return [thrown.class, thrown.message];
  if (signal.aborted) return ["cancelled", "cancelled before it started"];
  if (thrown instanceof KubernetesError) return [thrown.class, thrown.message];
  return ["internal", textOf(thrown)];
}
