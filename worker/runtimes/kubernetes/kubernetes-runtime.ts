import { randomBytes, randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { type ActionId, fieldsOf } from "../../core/action/action.ts";
import { bootTime } from "../../core/action/boot-time.ts";
import { failedAction } from "../../core/ports/outcome.ts";
import type { Need } from "../../core/ports/runtime.ts";
import {
  type Adoption,
  Detached,
  type EarlierRun,
  type EndedAction,
  type FollowRequest,
  type LaunchHandle,
  type LaunchRequest,
  NotLaunched,
  outputOptions,
  type ReturnedAction,
  type Runtime,
} from "../../core/ports/runtime.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { isKubernetesError, KubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { findMissingRights, type MissingRight } from "../../kubernetes/client/missing-rights.ts";
import { findLaunched, type Launched } from "../find-launched.ts";
import { launchName } from "../launch-name.ts";
import { type FollowOptions, JobFollower } from "./follow-job.ts";
import { JobClient } from "./job-client.ts";
import { ANNOTATION, isJobOf, type JobMetadata, jobMetadata, LABEL } from "./job-labels.ts";
import type { ObservedJob, ObservedPod } from "./job-objects.ts";
import { connectionSecret, jobManifest, type PodConfig } from "./job-spec.ts";
import { isOrphanJob, isUnacknowledged } from "./orphaned-jobs.ts";
import { refusal } from "./refusal.ts";
import { RIGHTS } from "./runtime-rights.ts";
import { requireVersion } from "./server-version.ts";
import { WatchedJobs } from "./watched-jobs.ts";

const LAUNCH_ATTEMPTS = 5;
const CLEAN_UP_MS = 60_000;
const RIGHTS_CACHE_MS = 10 * 60_000;
/** Deleting a Job may take as long as deleting its pod. */
const REMOVAL_SLACK_MS = 60_000;

export interface KubernetesRuntimeOptions {
  readonly cluster: Cluster;
  readonly pods: PodConfig;
  readonly owner: string;
  readonly shared: boolean;
  /** Whether this worker leads; called right before each request to start a Job. Absent means always. */
  readonly isLeading?: (() => boolean) | undefined;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly stopGraceMs: number;
  /** Unique for this process. */
  readonly instance?: string;
  /** Whether the image's action may run twice with the same effect as once. */
  readonly isIdempotent?: (image: string) => Promise<boolean>;
}

interface Claim {
  readonly kind: "suspended" | "adopted";
  readonly job: ObservedJob;
}

class LaunchFailure extends Error {
  readonly class: ErrorClass;

  constructor(errorClass: ErrorClass, message: string) {
    super(message);
    this.class = errorClass;
  }
}

/**
 * Runs each action in a Job. The Job's name is derived from workflow and action, so the API ensures that an action is
 * launched only once: a second worker finds the name taken and adopts the Job. A Job is created suspended, recorded,
 * and then started once.
 */
export class KubernetesRuntime implements Runtime {
  readonly name = "kubernetes";
  readonly secretNamespace: string;
  readonly #options: KubernetesRuntimeOptions;
  readonly #clock: Clock;
  readonly #client: JobClient;
  readonly #watched: WatchedJobs;
  readonly #instance: string;
  readonly #closing = new AbortController();
  #hasLoggedForbidden = false;
  /** The last result, if it was sufficient. */
  #rights: { readonly missing: readonly MissingRight[]; readonly atMs: number } | undefined;

  constructor(options: KubernetesRuntimeOptions) {
    const { cluster, log, clock = systemClock, instance = randomUUID() } = options;
    this.secretNamespace = cluster.namespace;
    this.#options = options;
    this.#clock = clock;
    this.#instance = instance;
    this.#client = new JobClient(cluster, clock);
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
      if (thrown instanceof NotLaunched || thrown instanceof Detached) throw thrown;
      this.#closing.signal.throwIfAborted();
      return this.#failed(thrown, askedAt, signal);
    }
  }

  #failed(thrown: unknown, startedAt: Date, signal: AbortSignal): EndedAction {
    return failedAction(...failureOf(thrown, signal), startedAt, new Date(this.#clock.now()));
  }

  async adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const { log } = this.#options;
    const launched: Launched<ObservedJob> = {
      find: (name, bound) => this.#client.find(name, bound),
      isOf: (action, { labels }) => isJobOf(action, labels),
      hasStarted: ({ suspended }) => !suspended,
      remove: (job) => this.#removeSuspended(job, signal),
      logOutage: (isFirst, fields) => logOutage(log, isFirst, fields, "cluster not responding, retrying"),
    };
    const bound = AbortSignal.any([signal, this.#closing.signal]);
    const job = await findLaunched(left, launched, this.#clock, bound);
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
      return { kind: "ended", ended: this.#failed(thrown, left.startedAt, signal) };
    }
  }

  async earlierRun(action: ActionId, signal: AbortSignal): Promise<EarlierRun | undefined> {
    const job = await this.#client.find(launchName(action), signal);
    if (!job || job.suspended || !isJobOf(action, job.labels)) return undefined;
    return {
      hasEnded: job.end !== undefined || job.labels[ANNOTATION.acknowledged] !== undefined,
      ageMs: this.#clock.now() - job.createdMs,
      handle: this.#handleOf(job),
      remove: async (bound) => {
        await this.#client.remove(job, bound);
        await this.#untilGone(job, bound);
      },
    };
  }

  #handleOf({ name, uid }: ObservedJob): LaunchHandle {
    return { job: name, uid, namespace: this.#options.cluster.namespace };
  }

  /** The cluster deletes Secrets with their Jobs. */
  async sweep(keep: (key: string) => Need, signal: AbortSignal): Promise<number> {
    const { owner, shared } = this.#options;
    const jobs = (await this.#client.list(signal)).filter(({ isBeingDeleted }) => !isBeingDeleted);
    const options = {
      owner,
      instance: this.#instance,
      keep,
      nowMs: this.#clock.now(),
      bootTime: bootTime(),
      // This worker does not know the actions of other workers in the group.
      state: shared ? undefined : owner,
    };
    const orphans = jobs.filter((job) => isOrphanJob(job, options));
    for (const job of orphans) {
      await this.#discard(job, async () => {
        await this.#client.remove(job, cleanUpSignal());
      });
    }
    // The next leader may still be served these actions.
    for (const job of shared ? jobs.filter((job) => isUnacknowledged(job, options)) : []) {
      await this.#discard(job, () => this.#acknowledge(job, undefined, undefined, cleanUpSignal()));
    }
    return orphans.length;
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

  /** Finds missing permissions. Cached, because probes ask often and permissions are rarely revoked. */
  async #missingRights(signal: AbortSignal): Promise<readonly MissingRight[]> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#rights && nowMs - this.#rights.atMs < RIGHTS_CACHE_MS) return this.#rights.missing;
    const { cluster } = this.#options;
    const scopes = { own: cluster.namespace, watched: cluster.namespace };
    const missing = await findMissingRights(cluster, RIGHTS, scopes, signal);
    const isUsable = missing.every(({ right }) => right.without !== undefined);
    this.#rights = isUsable ? { missing, atMs: nowMs } : undefined;
    return missing;
  }

  /** Detaches from running Jobs; the worker that is served their actions next adopts them. */
  detach(): void {
    this.#closing.abort(new Detached());
  }

  async close(): Promise<void> {
    this.detach();
    this.#watched.close();
  }

  /** Launches a Job. Resolves to undefined if it was deleted before it started, so that nothing was done. */
  async #launch(
    request: LaunchRequest,
    signal: AbortSignal,
    bound: AbortSignal,
  ): Promise<EndedAction | undefined> {
    const { action } = request;
    const claim = await this.#claim(request, bound);
    if (!claim) return undefined;
    const { job } = claim;
    const handle = this.#handleOf(job);
    if (claim.kind === "adopted") {
      // It already runs: adopt it even if the launch cannot be recorded.
      await request.onLaunch?.(handle).catch(() => undefined);
      return this.#adopt(job, request, signal);
    }
    try {
      await this.#createConnectionSecret(job, request, bound);
      await request.onLaunch?.(handle);
      bound.throwIfAborted();
    } catch (thrown) {
      // If another worker of the group has started it meanwhile, it continues there.
      const remove = () => this.#removeSuspended(job, cleanUpSignal());
      const removed = await this.#discard(job, remove, action);
      if (removed === "removed" && this.#closing.signal.aborted)
        throw new NotLaunched("the worker detached before");
      throw thrown;
    }
    const launchedMs = this.#clock.monotonicMs();
    let failure: string | undefined;
    try {
      const { startTimeoutMs } = this.#options.pods;
      const asked = AbortSignal.any([bound, AbortSignal.timeout(startTimeoutMs)]);
      const started = await this.#client.unsuspend(job, asked, () => {
        if (this.#options.isLeading?.() === false) throw new Detached();
      });
      // A lost Job is followed: it is gone, and its outcome is unknown.
      if (started === "gone") return this.#relaunch("its Job was deleted before it was started");
    } catch (thrown) {
      if (thrown instanceof NotLaunched || thrown instanceof Detached) throw thrown;
      this.#closing.signal.throwIfAborted();
      failure = `it could not be started: ${failureOf(thrown, signal)[1]}`;
    }
    return this.#follow(job, { launchedMs, failure }, request, signal);
  }

  /** Creates the action's Job, or finds the existing one. Undefined if that one is gone meanwhile. */
  async #claim(request: LaunchRequest, signal: AbortSignal): Promise<Claim | undefined> {
    const { pods, owner, stopGraceMs, shared } = this.#options;
    const { action, timeoutMs } = request;
    const name = launchName(action);
    const launch = randomBytes(4).toString("hex");
    const overMs = pods.startTimeoutMs + timeoutMs + stopGraceMs;
    const worker = { owner, instance: this.#instance, launch, lockKey: request.lockKey };
    const labels = jobMetadata(action, worker, overMs, this.#clock.now());
    const secret = request.connection && !request.mounted ? `${name}-${launch}` : undefined;
    const options = { pods, labels, stopGraceMs, secret };
    const created = await this.#client.create(jobManifest(request, options), signal);
    if (created?.isFirst === false && shared) {
      await this.#discard(created.job, () => this.#removeSuspended(created.job, cleanUpSignal()), action);
      return this.#relaunch("its Job may have been created, run by another leader, and deleted before");
    }
    if (created) return { kind: "suspended", job: created.job };
    const job = await this.#client.find(name, signal);
    if (!job) return this.#relaunch("its Job is gone");
    if (!isJobOf(action, job.labels)) {
      const text = `a Job named ${name} exists that was not made for this action: remove it`;
      throw new LaunchFailure("state", text);
    }
    if (job.suspended) {
      const isUsable = job.labels[LABEL.launch] === launch || (shared && isCompatible(job, secret));
      if (isUsable && !job.isBeingDeleted) return { kind: "suspended", job };
      // It never started, so nothing was done; its connection may be outdated.
      const removed = await this.#client.removeIfUnchanged(job, signal);
      if (removed === "gone") return this.#relaunch("its Job is gone");
      if (removed === "removed") await this.#untilGone(job, signal);
      return undefined;
    }
    return { kind: "adopted", job };
  }

  /**
   * Handles a Job that something deleted while it was suspended. Only this worker starts its Jobs, so nothing was done and
   * it may try again. With leader election another worker may have run it meanwhile, so the server decides whether it must
   * still run. Throws `NotLaunched`.
   */
  #relaunch(reason: string): undefined {
    if (this.#options.shared) throw new NotLaunched(reason);
    return undefined;
  }

  async #createConnectionSecret(
    job: ObservedJob,
    { action, connection }: LaunchRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const secret = job.labels[LABEL.secret];
    if (secret === undefined || !connection) return;
    const labels: JobMetadata = { labels: { [LABEL.key]: job.labels[LABEL.key] ?? "" }, annotations: {} };
    try {
      await this.#client.createSecret(connectionSecret(secret, job, labels, connection), signal);
    } catch (thrown) {
      if (!(thrown instanceof KubernetesError) || thrown.reason !== "forbidden") throw thrown;
      const machine = connection.machine ?? action.name;
      const text = `the connection of ${machine} cannot be passed to the pod: ${thrown.message}; put its Secret into ${this.secretNamespace}, or grant the worker create of secrets there`;
      throw new LaunchFailure("internal", text);
    }
  }

  /**
   * Removes a Job if it has not started. Resolves to `started` if another worker, or one that died, has started it or may
   * have.
   */
  async #removeSuspended(job: ObservedJob, signal: AbortSignal): Promise<"removed" | "started" | "gone"> {
    for (let seen: ObservedJob | undefined = job; seen; seen = await this.#client.find(job.name, signal)) {
      if (seen.uid !== job.uid) break;
      if (!seen.suspended) return "started";
      const removed = await this.#client.removeIfUnchanged(seen, signal);
      if (removed === "removed") return "removed";
      if (removed === "gone") break;
    }
    return this.#options.shared ? "gone" : "removed";
  }

  async #untilGone(job: ObservedJob, signal: AbortSignal): Promise<void> {
    if ((await this.#client.find(job.name, signal))?.uid !== job.uid) return;
    const observation = this.#watched.observe(job);
    const waitMs = this.#options.stopGraceMs + REMOVAL_SLACK_MS;
    const bound = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
    try {
      await observation.until(({ job: seen }) => (seen === "gone" ? true : undefined), bound);
    } catch {
      signal.throwIfAborted();
      const text = `the Job ${job.name} of a run before is being deleted and does not go`;
      throw new LaunchFailure("state", text);
    } finally {
      observation.release();
    }
  }

  async #adopt(job: ObservedJob, request: FollowRequest, signal: AbortSignal): Promise<EndedAction> {
    const status = job.end?.kind ?? "active";
    this.#options.log.info({ ...fieldsOf(request.action), job: job.name, status }, "action adopted");
    return this.#follow(job, {}, request, signal);
  }

  async #follow(
    job: ObservedJob,
    launch: { readonly launchedMs?: number | undefined; readonly failure?: string | undefined },
    { action, timeoutMs, clockSetMs = 0, ...output }: FollowRequest,
    signal: AbortSignal,
  ): Promise<EndedAction> {
    const { cluster, log, stopGraceMs, pods } = this.#options;
    const observation = this.#watched.observe(job);
    const options: FollowOptions = {
      ...outputOptions(output),
      ...launch,
      cluster,
      client: this.#client,
      job,
      observation,
      timeoutMs,
      startTimeoutMs: pods.startTimeoutMs,
      stopGraceMs,
      clockSetMs,
      clock: this.#clock,
      log,
      fields: fieldsOf(action),
      detached: this.#closing.signal,
      onLogForbidden: (reason) => this.#logForbidden(reason),
    };
    try {
      const { outcome, livePod } = await new JobFollower(options).follow(signal);
      return { outcome, remove: (bound) => this.#acknowledge(job, outcome.exitCode, livePod, bound) };
    } finally {
      observation.release();
    }
  }

  /**
   * The Job remains for a while after its report, because a server may still serve its action from a cache, possibly
   * to another worker, which must find it. The connection's Secret goes with the Job: no rule can grant the deletion of the worker's
   * own Secrets alone.
   */
  async #acknowledge(
    job: ObservedJob,
    exitCode: number | undefined,
    livePod: ObservedPod | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    // Its container has ended: whatever else still runs in the pod would run forever.
    const isLive = livePod !== undefined && (await this.#client.isRunning(livePod, signal));
    await this.#client.acknowledge(job, { exitCode, end: isLive }, signal);
    // The Job's controller also deletes the pod, if the worker has no right to.
    if (isLive) await this.#client.removePod(livePod, undefined, signal).catch(ignoreForbidden);
  }

  #logForbidden(error: string): void {
    if (this.#hasLoggedForbidden) return;
    this.#hasLoggedForbidden = true;
    this.#options.log.warn({ error }, "action logs unavailable");
  }

  /** Removes a Job; resolves to undefined if that failed. */
  async #discard<T>(job: ObservedJob, remove: () => Promise<T>, action?: ActionId): Promise<T | undefined> {
    try {
      return await remove();
    } catch (thrown) {
      const error = textOf(thrown);
      const about = action ? fieldsOf(action) : {};
      this.#options.log.warn({ ...about, job: job.name, error }, "Job cleanup failed");
      return undefined;
    }
  }
}

/** Whether a Job that another worker created fits this one's connection. */
function isCompatible(job: ObservedJob, secret: string | undefined): boolean {
  return (job.labels[LABEL.secret] === undefined) === (secret === undefined);
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
