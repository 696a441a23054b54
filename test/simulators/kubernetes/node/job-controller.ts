import type { V1JobSpec } from "@kubernetes/client-node";
import { type Clock, systemClock } from "../../../../shared/clock.ts";
import { isSameJson, type KubeObject, randomSuffix, timestamp } from "../api/object.ts";
import type { ClusterAccess } from "../cluster.ts";
import { ClusterClient, ClusterError } from "./cluster-client.ts";
import { corePath, eventOf, placeOf, podPath } from "./paths.ts";
import { podStatusOf } from "./pod-status.ts";

export interface JobControllerOptions {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly clock?: Clock;
  /** Before another attempt to create a Pod; 10 s when absent, like the real controller. */
  readonly retryDelayMs?: number;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

interface JobStatus {
  readonly startTime?: string;
  readonly completionTime?: string;
  readonly active?: number;
  readonly ready?: number;
  readonly terminating?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly conditions?: readonly Condition[];
}

/** Keeps a Job's Pod until its end is counted (KEP 2307). */
const TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking";
const RETRY_MS = 50;

/**
 * The Job controller of kube-controller-manager, over HTTP, for Jobs of one Pod: creates it, keeps the status, ends it at
 * the deadline and deletes what is finished. It works at any API server without a Job controller. After each change it
 * looks at all Jobs again, so that it has no state to lose.
 */
export class JobController {
  readonly #client: ClusterClient;
  readonly #clock: Clock;
  readonly #retryDelayMs: number;
  readonly #stopping = new AbortController();
  readonly #paths: { readonly jobs: string; readonly pods: string };
  /** Jobs whose Pod was refused, until when. */
  readonly #refusedUntilMs = new Map<string, number>();
  #alarm = new AbortController();
  #alarmMs = Number.POSITIVE_INFINITY;
  #changed = Promise.withResolvers<void>();
  #running: Promise<unknown> = Promise.resolve();

  private constructor(access: ClusterAccess, options: JobControllerOptions) {
    this.#client = new ClusterClient(access);
    this.#clock = options.clock ?? systemClock;
    this.#retryDelayMs = options.retryDelayMs ?? 10_000;
    const within = options.namespace === undefined ? "" : `/namespaces/${options.namespace}`;
    this.#paths = { jobs: `/apis/batch/v1${within}/jobs`, pods: `/api/v1${within}/pods` };
  }

  static start(access: ClusterAccess, options: JobControllerOptions = {}): JobController {
    const controller = new JobController(access, options);
    const { jobs, pods } = controller.#paths;
    controller.#running = Promise.all([
      controller.#watch(jobs),
      controller.#watch(pods),
      controller.#reconcile(),
    ]);
    return controller;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    this.#changed.resolve();
    await this.#client.close();
    await this.#running;
  }

  /** Without a version each watch begins with all objects, so that nothing is missed in between. */
  async #watch(path: string): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        for await (const _ of this.#client.watch(path, "", signal)) this.#changed.resolve();
      } catch {
        // The server is away.
      }
      await this.#clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }

  async #reconcile(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#changed.promise;
      this.#changed = Promise.withResolvers();
      try {
        const jobs = (await this.#client.list(this.#paths.jobs)).items;
        const pods = (await this.#client.list(this.#paths.pods)).items;
        for (const job of jobs) await this.#sync(job, pods).catch(() => this.#checkAgainAfter(RETRY_MS));
        const uids = new Set(jobs.map(({ metadata }) => metadata.uid));
        await this.#release(pods.filter((pod) => !uids.has(ownerOf(pod))));
      } catch {
        this.#checkAgainAfter(RETRY_MS);
      }
    }
  }

  /** Rejects when it loses a race or the server. */
  async #sync(job: KubeObject, allPods: readonly KubeObject[]): Promise<void> {
    const pods = allPods.filter((pod) => ownerOf(pod) === job.metadata.uid);
    const { backoffLimit = 6, suspend = false } = specOf(job);
    const before = (job.status ?? {}) as JobStatus;
    const end = before.conditions?.find(({ type }) => type === "Complete" || type === "Failed");
    if (end || job.metadata.deletionTimestamp) {
      await this.#release(pods);
      if (end) await this.#deleteFinished(job, end);
      return;
    }
    if (suspend) return;
    // A Pod that is being deleted counts as failed at once.
    const hasEnded = (pod: KubeObject) => isOver(pod) || pod.metadata.deletionTimestamp !== undefined;
    const active = pods.filter((pod) => !hasEnded(pod));
    const counted = pods.filter((pod) => hasEnded(pod) && isTracked(pod));
    const succeeded = counted.filter((pod) => podStatusOf(pod).phase === "Succeeded").length;
    const status = this.#nextStatus(before, specOf(job), {
      succeeded: (before.succeeded ?? 0) + succeeded,
      failed: (before.failed ?? 0) + counted.length - succeeded,
      running: pods.filter((pod) => !isOver(pod)).length,
    });
    const ready = active.filter(isReady).length;
    const terminating = pods.filter((pod) => !isOver(pod) && !active.includes(pod)).length;
    await this.#writeStatus(job, { ...status, active: active.length, ready, terminating });
    await this.#release(counted);
    const { conditions = [], failed = 0 } = status;
    if (conditions.some(({ type }) => type === "FailureTarget"))
      for (const pod of active) await this.#client.delete(podPath(pod));
    else if (conditions.length === 0 && active.length === 0 && failed <= backoffLimit)
      await this.#createPod(job);
  }

  #nextStatus(
    before: JobStatus,
    { backoffLimit = 6, activeDeadlineSeconds, completions = 1 }: Partial<V1JobSpec>,
    { succeeded, failed, running }: { succeeded: number; failed: number; running: number },
  ): JobStatus {
    const time = timestamp(this.#clock.now());
    const { startTime = time, conditions = [] } = before;
    const next: JobStatus = { ...before, startTime, succeeded, failed };
    const condition = (type: string, reason: string, message: string): Condition => ({
      ...{ type, status: "True", reason, message, lastTransitionTime: time },
    });
    let target = conditions.find(({ type }) => type === "FailureTarget");
    const remainingMs = Date.parse(startTime) + (activeDeadlineSeconds ?? 0) * 1_000 - this.#clock.now();
    if (!target && failed > backoffLimit)
      target = condition(
        "FailureTarget",
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
      );
    else if (!target && activeDeadlineSeconds !== undefined && remainingMs <= 0)
      target = condition(
        "FailureTarget",
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
      );
    if (target) {
      // The Job has failed only once its last Pod has ended (KEP 3939).
      const last = running > 0 ? [] : [{ ...target, type: "Failed", lastTransitionTime: time }];
      return { ...next, conditions: [target, ...last] };
    }
    if (succeeded >= completions) {
      const message = "Reached expected number of succeeded pods";
      const ends = ["SuccessCriteriaMet", "Complete"];
      const reached = ends.map((type) => condition(type, "CompletionsReached", message));
      return { ...next, completionTime: time, conditions: reached };
    }
    if (activeDeadlineSeconds !== undefined) this.#checkAgainAfter(remainingMs);
    return next;
  }

  /** Without counts of zero, as Go encodes them. */
  async #writeStatus(job: KubeObject, status: JobStatus): Promise<void> {
    const fields = Object.entries(status);
    if (isSameJson(Object.fromEntries(fields.filter(([, value]) => value !== 0)), job.status)) return;
    await this.#client.patch(`${jobPath(job)}/status`, {
      metadata: { uid: job.metadata.uid },
      status: Object.fromEntries(fields.map(([name, value]) => [name, value === 0 ? null : value])),
    });
  }

  async #createPod(job: KubeObject): Promise<void> {
    const { namespace, name } = placeOf(job);
    const { uid = "" } = job.metadata;
    if ((this.#refusedUntilMs.get(uid) ?? 0) > this.#clock.now()) return;
    const { template } = specOf(job);
    const owner = {
      apiVersion: "batch/v1",
      kind: "Job",
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...template.metadata,
        // Short enough for a label, as the real controller cuts it.
        name: `${name.slice(0, 57)}-${randomSuffix()}`,
        finalizers: [TRACKING_FINALIZER],
        ownerReferences: [owner],
      },
      spec: template.spec,
    };
    try {
      const created = await this.#client.create(corePath(namespace, "pods"), pod);
      const message = `Created pod: ${created.metadata.name}`;
      await this.#event(job, { type: "Normal", reason: "SuccessfulCreate", message });
    } catch (thrown) {
      if (!(thrown instanceof ClusterError)) throw thrown;
      this.#refusedUntilMs.set(uid, this.#clock.now() + this.#retryDelayMs);
      this.#checkAgainAfter(this.#retryDelayMs);
      const message = `Error creating: ${thrown.message}`;
      await this.#event(job, { type: "Warning", reason: "FailedCreate", message });
    }
  }

  /** Removes the finalizer from Pods that have been counted or are no longer needed. */
  async #release(pods: readonly KubeObject[]): Promise<void> {
    for (const pod of pods.filter(isTracked)) {
      const { uid, finalizers = [] } = pod.metadata;
      const remaining = finalizers.filter((finalizer) => finalizer !== TRACKING_FINALIZER);
      await this.#client.patch(podPath(pod), { metadata: { uid, finalizers: remaining } });
    }
  }

  /** ttlSecondsAfterFinished. */
  async #deleteFinished(job: KubeObject, end: Condition): Promise<void> {
    const { ttlSecondsAfterFinished } = specOf(job);
    const { deletionTimestamp, uid } = job.metadata;
    if (ttlSecondsAfterFinished === undefined || deletionTimestamp) return;
    const remainingMs =
      Date.parse(end.lastTransitionTime) + ttlSecondsAfterFinished * 1_000 - this.#clock.now();
    if (remainingMs > 0) this.#checkAgainAfter(remainingMs);
    else await this.#client.delete(jobPath(job), { propagationPolicy: "Foreground", preconditions: { uid } });
  }

  /** The earliest of these times counts: all Jobs are looked at then. */
  #checkAgainAfter(ms: number): void {
    const atMs = this.#clock.now() + ms;
    if (atMs >= this.#alarmMs) return;
    this.#alarm.abort();
    this.#alarm = new AbortController();
    this.#alarmMs = atMs;
    this.#clock.sleep(ms, AbortSignal.any([this.#alarm.signal, this.#stopping.signal])).then(
      () => {
        this.#alarmMs = Number.POSITIVE_INFINITY;
        this.#changed.resolve();
      },
      () => undefined,
    );
  }

  async #event(job: KubeObject, what: Parameters<typeof eventOf>[2]): Promise<void> {
    const { namespace } = placeOf(job);
    const about = { ...job, apiVersion: "batch/v1", kind: "Job" };
    const event = eventOf(about, "job-controller", what, this.#clock.now());
    await this.#client.create(corePath(namespace, "events"), event);
  }
}

function specOf({ spec }: KubeObject): V1JobSpec {
  return spec as unknown as V1JobSpec;
}

function jobPath(job: KubeObject): string {
  const { namespace, name } = placeOf(job);
  return `/apis/batch/v1/namespaces/${namespace}/jobs/${name}`;
}

function isOver(pod: KubeObject): boolean {
  return ["Succeeded", "Failed"].includes(podStatusOf(pod).phase ?? "");
}

function isTracked({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(TRACKING_FINALIZER) === true;
}

function isReady(pod: KubeObject): boolean {
  return (
    podStatusOf(pod).conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false
  );
}

function ownerOf({ metadata }: KubeObject): string | undefined {
  return metadata.ownerReferences?.find(({ controller, kind }) => controller && kind === "Job")?.uid;
}
