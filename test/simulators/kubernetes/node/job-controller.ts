import type { V1JobCondition, V1JobStatus } from "@kubernetes/client-node";
import { type Clock, systemClock } from "../../../../shared/clock.ts";
import { type KubeObject, microTimestamp, same, timestamp } from "../api/object.ts";
import { randomSuffix } from "../api/random-suffix.ts";
import type { ClusterAccess } from "../cluster.ts";
import { jobSpecOf } from "../kinds/job.ts";
import { ClusterClient, ClusterError } from "./cluster-client.ts";
import { countPods, type PodCounts, TRACKING_FINALIZER } from "./job-pods.ts";
import { core, involved, jobPath, placeOf, podPath } from "./paths.ts";

export interface JobControllerOptions {
  readonly clock?: Clock;
  /** Before the second Pod of a Job; twice as long before every next one. 10 s when absent, as the real one has it. */
  readonly retryDelayMs?: number;
}

const JOBS = "/apis/batch/v1/jobs";
const PODS = "/api/v1/pods";
const RELIST_DELAY_MS = 50;

type JobStatus = Omit<V1JobStatus, "startTime" | "completionTime" | "conditions"> & {
  startTime?: string;
  completionTime?: string;
  conditions?: readonly Condition[];
};
type Condition = Pick<V1JobCondition, "type" | "status" | "reason" | "message"> & {
  lastTransitionTime?: string;
};

/**
 * What kube-controller-manager does for Jobs, over HTTP: Pods, status, deadline, the end, and the clean-up after
 * `ttlSecondsAfterFinished`. It works at any API server that has no controller of its own.
 */
export class JobController {
  readonly #client: ClusterClient;
  readonly #clock: Clock;
  readonly #retryDelayMs: number;
  readonly #stopping = new AbortController();
  readonly #jobs = new Map<string, KubeObject>();
  readonly #pods = new Map<string, KubeObject>();
  /** Pods whose end is in their Job's status already. */
  readonly #counted = new Set<string>();
  /** Since when a Job's Pod may be tried again after a refusal, on the monotonic clock. */
  readonly #refusedUntil = new Map<string, number>();
  readonly #alarms = new Map<string, AbortController>();
  readonly #queue = new Set<string>();
  #working: Promise<void> | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(access: ClusterAccess, options: JobControllerOptions = {}) {
    this.#client = new ClusterClient(access);
    this.#clock = options.clock ?? systemClock;
    this.#retryDelayMs = options.retryDelayMs ?? 10_000;
  }

  static start(access: ClusterAccess, options: JobControllerOptions = {}): JobController {
    const controller = new JobController(access, options);
    controller.#running = Promise.all([
      controller.#follow(JOBS, controller.#jobs, (job) => job.metadata.uid),
      controller.#follow(PODS, controller.#pods, (pod) => ownerOf(pod)),
    ]);
    return controller;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    for (const alarm of this.#alarms.values()) alarm.abort();
    await this.#client.close();
    await this.#running;
    await this.#working;
  }

  /** Keeps `cache` as the cluster has it; every change has the Job that it is about looked at. */
  async #follow(
    path: string,
    cache: Map<string, KubeObject>,
    jobOf: (object: KubeObject) => string | undefined,
  ): Promise<void> {
    const { signal } = this.#stopping;
    const enqueue = (object: KubeObject) => {
      const uid = jobOf(object);
      if (uid !== undefined) this.#enqueue(uid);
    };
    while (!signal.aborted) {
      try {
        // What is made while the list is under way is not gone for being absent from it.
        const gone = new Map(cache);
        const { items, resourceVersion } = await this.#client.list(path);
        const kind =
          path === JOBS ? { apiVersion: "batch/v1", kind: "Job" } : { apiVersion: "v1", kind: "Pod" };
        for (const item of items) {
          const object = { ...item, ...kind };
          gone.delete(object.metadata.uid ?? "");
          cache.set(object.metadata.uid ?? "", object);
          enqueue(object);
        }
        for (const [uid, object] of gone) {
          cache.delete(uid);
          enqueue(object);
        }
        for await (const { type, object } of this.#client.watch(path, resourceVersion, signal)) {
          if (type === "BOOKMARK") continue;
          if (type === "ERROR") break;
          const uid = object.metadata.uid ?? "";
          if (type === "DELETED") cache.delete(uid);
          else cache.set(uid, object);
          enqueue(object);
        }
      } catch (thrown) {
        if (signal.aborted) return;
        // The server is away or the version too old: everything is read anew.
        if (!(thrown instanceof Error)) throw thrown;
      }
      await this.#clock.sleep(RELIST_DELAY_MS, signal).catch(() => undefined);
    }
  }

  #enqueue(uid: string): void {
    this.#queue.add(uid);
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
      const [left] = this.#queue;
      if (left !== undefined && !this.#stopping.signal.aborted) this.#enqueue(left);
    });
  }

  async #work(): Promise<void> {
    for (const uid of this.#queue) {
      if (this.#stopping.signal.aborted) return;
      this.#queue.delete(uid);
      try {
        await this.#sync(uid);
      } catch (thrown) {
        // Lost a race or the server: the next look is at what is there then.
        if (!this.#stopping.signal.aborted) this.#wake(uid, RELIST_DELAY_MS);
        if (!(thrown instanceof Error)) throw thrown;
      }
    }
  }

  async #sync(uid: string): Promise<void> {
    const job = this.#jobs.get(uid);
    const pods = [...this.#pods.values()].filter((pod) => ownerOf(pod) === uid);
    if (!job || job.metadata.deletionTimestamp) {
      await this.#release(pods);
      return;
    }
    const status = statusOf(job);
    const end = status.conditions?.find(
      (condition) =>
        (condition.type === "Complete" || condition.type === "Failed") && condition.status === "True",
    );
    if (end) {
      await this.#release(pods);
      await this.#expire(job, end);
      return;
    }
    const counts = countPods(pods, this.#counted);
    const next = this.#nextStatus(job, counts);
    if (!same(next, status)) await this.#client.patch(jobPath(placeOf(job), "status"), { status: next });
    for (const pod of counts.newlyEnded) this.#counted.add(pod.metadata.uid ?? "");
    await this.#release(counts.ended);
    if (next.conditions?.some(({ type }) => type === "Complete" || type === "Failed")) return;
    if (failing(next)) {
      for (const pod of counts.active) await this.#client.delete(podPath(placeOf(pod)));
      return;
    }
    await this.#fill(job, next, counts);
  }

  /** What the Job's status says after its Pods were looked at. */
  #nextStatus(job: KubeObject, counts: PodCounts): JobStatus {
    const spec = jobSpecOf(job);
    const before = statusOf(job);
    const now = this.#clock.now();
    const startTime = before.startTime ?? timestamp(now);
    const succeeded = (before.succeeded ?? 0) + counts.newlySucceeded;
    const failed = (before.failed ?? 0) + counts.newlyFailed;
    const next: JobStatus = {
      ...before,
      startTime,
      active: counts.active.length,
      ready: counts.ready,
      terminating: counts.terminating,
      ...(succeeded > 0 ? { succeeded } : {}),
      ...(failed > 0 ? { failed } : {}),
    };
    const transition = { status: "True", lastTransitionTime: timestamp(now) };
    const conditions = [...(before.conditions ?? [])];
    const why = failing(before) ?? this.#failure(job, failed, Date.parse(startTime), counts);
    if (why) {
      if (!failing(before)) conditions.push({ type: "FailureTarget", ...transition, ...why });
      // The end is not told before the last Pod has ended (KEP 3939).
      if (counts.active.length + counts.terminating === 0)
        conditions.push({ type: "Failed", ...transition, ...why });
    } else if (succeeded >= (spec.completions ?? 1)) {
      const reason = { reason: "CompletionsReached", message: "Reached expected number of succeeded pods" };
      conditions.push({ type: "SuccessCriteriaMet", ...transition, ...reason });
      conditions.push({ type: "Complete", ...transition, ...reason });
      next.completionTime = timestamp(now);
    }
    return conditions.length === 0 ? next : { ...next, conditions };
  }

  #failure(
    job: KubeObject,
    failed: number,
    startedAt: number,
    counts: PodCounts,
  ): { readonly reason: string; readonly message: string } | undefined {
    const { backoffLimit = 6, activeDeadlineSeconds } = jobSpecOf(job);
    if (failed + counts.restarts > backoffLimit)
      return { reason: "BackoffLimitExceeded", message: "Job has reached the specified backoff limit" };
    if (activeDeadlineSeconds === undefined) return undefined;
    const leftMs = startedAt + activeDeadlineSeconds * 1_000 - this.#clock.now();
    if (leftMs <= 0)
      return { reason: "DeadlineExceeded", message: "Job was active longer than specified deadline" };
    this.#wake(job.metadata.uid ?? "", leftMs);
    return undefined;
  }

  /** Makes the Pods that are missing, the first at once and each after a failure later. */
  async #fill(job: KubeObject, status: JobStatus, counts: PodCounts): Promise<void> {
    const { suspend, parallelism = 1, completions = 1 } = jobSpecOf(job);
    const wanted = suspend ? 0 : Math.min(parallelism, completions - (status.succeeded ?? 0));
    const missing = wanted - counts.active.length;
    const refusedForMs = (this.#refusedUntil.get(job.metadata.uid ?? "") ?? 0) - this.#clock.monotonicMs();
    if (missing <= 0 || refusedForMs > 0) return;
    const failed = status.failed ?? 0;
    const waitMs =
      failed === 0 ? 0 : this.#retryDelayMs * 2 ** (failed - 1) - (this.#clock.now() - counts.lastEndMs);
    if (waitMs > 0) {
      this.#wake(job.metadata.uid ?? "", waitMs);
      return;
    }
    for (let count = 0; count < missing; count++) await this.#createPod(job);
  }

  async #createPod(job: KubeObject): Promise<void> {
    const { namespace, name } = placeOf(job);
    const { template } = jobSpecOf(job);
    const path = core(namespace, "pods");
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...template.metadata,
        // Short enough for a label, as the real one cuts it.
        name: `${name.slice(0, 57)}-${randomSuffix()}`,
        generateName: `${name.slice(0, 57)}-`,
        finalizers: [...(template.metadata?.finalizers ?? []), TRACKING_FINALIZER],
        ownerReferences: [
          {
            apiVersion: "batch/v1",
            kind: "Job",
            name,
            uid: job.metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: template.spec,
    };
    try {
      const created = await this.#client.create(path, pod);
      this.#pods.set(created.metadata.uid ?? "", created);
      await this.#event(job, "Normal", "SuccessfulCreate", `Created pod: ${created.metadata.name}`);
    } catch (thrown) {
      if (!(thrown instanceof ClusterError)) throw thrown;
      if (thrown.message.includes('serviceaccount "default" not found')) {
        // No controller makes it here; the real one of every namespace does.
        const account = {
          apiVersion: "v1",
          kind: "ServiceAccount",
          metadata: { name: "default", namespace },
        };
        await this.#client.create(core(namespace, "serviceaccounts"), account);
        throw thrown;
      }
      this.#refusedUntil.set(job.metadata.uid ?? "", this.#clock.monotonicMs() + this.#retryDelayMs);
      await this.#event(job, "Warning", "FailedCreate", `Error creating: ${thrown.message}`);
      this.#wake(job.metadata.uid ?? "", this.#retryDelayMs);
    }
  }

  /** Lets Pods go that the Job needs no more. */
  async #release(pods: readonly KubeObject[]): Promise<void> {
    for (const pod of pods) {
      const { finalizers = [], uid = "" } = pod.metadata;
      if (!finalizers.includes(TRACKING_FINALIZER)) continue;
      const left = finalizers.filter((finalizer) => finalizer !== TRACKING_FINALIZER);
      try {
        const released = await this.#client.patch(podPath(placeOf(pod)), {
          metadata: { uid, finalizers: left },
        });
        if (this.#pods.has(uid)) this.#pods.set(uid, released);
      } catch (thrown) {
        if (!(thrown instanceof ClusterError) || thrown.status !== 404) throw thrown;
      }
    }
  }

  /** ttlSecondsAfterFinished. */
  async #expire(job: KubeObject, end: Condition): Promise<void> {
    const { ttlSecondsAfterFinished } = jobSpecOf(job);
    if (ttlSecondsAfterFinished === undefined) return;
    const endedAt = Date.parse(end.lastTransitionTime ?? "");
    const leftMs = endedAt + ttlSecondsAfterFinished * 1_000 - this.#clock.now();
    if (leftMs > 0) this.#wake(job.metadata.uid ?? "", leftMs);
    else
      await this.#client.delete(jobPath(placeOf(job)), {
        propagationPolicy: "Foreground",
        preconditions: { uid: job.metadata.uid },
      });
  }

  /** Has the Job looked at again later; the newest alarm counts. */
  #wake(uid: string, ms: number): void {
    this.#alarms.get(uid)?.abort();
    const alarm = new AbortController();
    this.#alarms.set(uid, alarm);
    this.#clock.sleep(ms, alarm.signal).then(
      () => {
        if (this.#alarms.get(uid) === alarm) this.#alarms.delete(uid);
        this.#enqueue(uid);
      },
      () => undefined,
    );
  }

  async #event(job: KubeObject, type: string, reason: string, message: string): Promise<void> {
    const { namespace, name } = placeOf(job);
    const now = this.#clock.now();
    await this.#client.create(core(namespace, "events"), {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name}.${randomSuffix(16)}`, namespace },
      involvedObject: involved(job),
      type,
      reason,
      message,
      source: { component: "job-controller" },
      firstTimestamp: timestamp(now),
      lastTimestamp: timestamp(now),
      eventTime: microTimestamp(now),
      count: 1,
      action: reason,
      reportingComponent: "job-controller",
      reportingInstance: "job-controller",
    });
  }
}

function statusOf({ status = {} }: KubeObject): JobStatus {
  return status as unknown as JobStatus;
}

/** Why the Job is to fail, once that is decided. */
function failing({
  conditions = [],
}: JobStatus): { readonly reason: string; readonly message: string } | undefined {
  const found = conditions.find(({ type, status }) => type === "FailureTarget" && status === "True");
  return found && { reason: found.reason ?? "", message: found.message ?? "" };
}

function ownerOf({ metadata }: KubeObject): string | undefined {
  return metadata.ownerReferences?.find(({ controller, kind }) => controller === true && kind === "Job")?.uid;
}
