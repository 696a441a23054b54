import type { V1JobSpec } from "@kubernetes/client-node";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { isSameJson, type KubeObject, randomSuffix, timestamp } from "../api/object.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { ClusterClient, ClusterError } from "./cluster-client.ts";
import { corePath, eventOf, placeOf, podPath } from "./paths.ts";
import { podStatusOf } from "./pod-status.ts";

export interface JobControllerOptions {
  /** The namespace. Defaults to all namespaces. */
  readonly namespace?: string;
  readonly clock?: Clock;
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
  readonly succeeded?: number;
  readonly failed?: number;
  readonly conditions?: readonly Condition[];
}

/** Keeps a Job's Pod until its result is counted (KEP 2307). */
const TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking";
const RETRY_MS = 50;

/**
 * The Job controller of kube-controller-manager, over HTTP, for Jobs with one Pod that is never retried: it creates the Pod,
 * keeps the status and ends the Job at the deadline. Works with any API server without a Job controller. After each change
 * it looks at all Jobs again, so that it has no state to lose.
 */
export class JobController {
  readonly #client: ClusterClient;
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  readonly #paths: { readonly jobs: string; readonly pods: string };
  #alarm = new AbortController();
  #alarmMs = Number.POSITIVE_INFINITY;
  #changed = Promise.withResolvers<void>();
  #running: Promise<unknown> = Promise.resolve();

  private constructor(access: ClusterAccess, options: JobControllerOptions) {
    this.#client = new ClusterClient(access);
    this.#clock = options.clock ?? systemClock;
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

  /** Watches without a version, so that each watch begins with all objects and misses nothing in between. */
  async #watch(path: string): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        for await (const _ of this.#client.watch(path, "", signal)) this.#changed.resolve();
      } catch {
        // The server is unavailable.
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

  /** Brings a Job up to date. Rejects if it loses a race or the server is unavailable. */
  async #sync(job: KubeObject, allPods: readonly KubeObject[]): Promise<void> {
    const pods = allPods.filter((pod) => ownerOf(pod) === job.metadata.uid);
    const before = (job.status ?? {}) as JobStatus;
    const hasFinished = before.conditions?.some(({ type }) => type === "Complete" || type === "Failed");
    if (hasFinished || job.metadata.deletionTimestamp) return this.#release(pods);
    if (specOf(job).suspend) return;
    const status = this.#nextStatus(before, specOf(job), pods);
    if (!isSameJson(status, before))
      await this.#client.patch(`${jobPath(job)}/status`, {
        metadata: { uid: job.metadata.uid },
        status: { active: null, ...status },
      });
    await this.#release(pods.filter(hasEnded));
    const active = pods.filter((pod) => !hasEnded(pod));
    if (status.conditions?.some(({ type }) => type === "FailureTarget"))
      for (const pod of active) await this.#client.delete(podPath(pod));
    else if (pods.length === 0) await this.#createPod(job);
  }

  #nextStatus(
    { conditions = [], startTime = timestamp(this.#clock.now()) }: JobStatus,
    { activeDeadlineSeconds = Number.POSITIVE_INFINITY }: V1JobSpec,
    pods: readonly KubeObject[],
  ): JobStatus {
    const active = pods.filter((pod) => !hasEnded(pod)).length;
    const status: JobStatus = { startTime, ...(active > 0 && { active }) };
    const lastTransitionTime = timestamp(this.#clock.now());
    const conditionsOf = (reason: string, message: string, ...types: readonly string[]) =>
      types.map((type) => ({ type, status: "True", reason, message, lastTransitionTime }));
    if (pods.some((pod) => podStatusOf(pod).phase === "Succeeded")) {
      const message = "Reached expected number of succeeded pods";
      const reached = conditionsOf("CompletionsReached", message, "SuccessCriteriaMet", "Complete");
      return { ...status, succeeded: 1, completionTime: lastTransitionTime, conditions: reached };
    }
    const remainingMs = Date.parse(startTime) + activeDeadlineSeconds * 1_000 - this.#clock.now();
    let [target] = conditions;
    if (!target && pods.some(hasEnded)) {
      const message = "Job has reached the specified backoff limit";
      [target] = conditionsOf("BackoffLimitExceeded", message, "FailureTarget");
    } else if (!target && remainingMs <= 0) {
      const message = "Job was active longer than specified deadline";
      [target] = conditionsOf("DeadlineExceeded", message, "FailureTarget");
    }
    if (!target) {
      if (remainingMs < Number.POSITIVE_INFINITY) this.#checkAgainAfter(remainingMs);
      return status;
    }
    // A Job has failed only after its Pod has ended (KEP 3939).
    const isOver = pods.every((pod) => podStatusOf(pod).phase === "Failed");
    const failed = conditionsOf(target.reason, target.message, "Failed");
    return { ...status, failed: 1, conditions: [target, ...(isOver ? failed : [])] };
  }

  async #createPod(job: KubeObject): Promise<void> {
    const { namespace, name } = placeOf(job);
    const { uid = "" } = job.metadata;
    const { template } = specOf(job);
    const owner = { apiVersion: "batch/v1", kind: "Job", name, uid };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...template.metadata,
        // Short enough for a label, like the names of the real controller.
        name: `${name.slice(0, 57)}-${randomSuffix()}`,
        finalizers: [TRACKING_FINALIZER],
        ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
      },
      spec: template.spec,
    };
    try {
      const created = await this.#client.create(corePath(namespace, "pods"), pod);
      const message = `Created pod: ${created.metadata.name}`;
      await this.#event(job, { type: "Normal", reason: "SuccessfulCreate", message });
    } catch (thrown) {
      if (!(thrown instanceof ClusterError)) throw thrown;
      if (thrown.message.includes('serviceaccount "default" not found')) {
        // A real API server has no controller that creates this in each namespace.
        await this.#client.create(corePath(namespace, "serviceaccounts"), { metadata: { name: "default" } });
        throw thrown;
      }
      const message = `Error creating: ${thrown.message}`;
      await this.#event(job, { type: "Warning", reason: "FailedCreate", message });
    }
  }

  /** Removes the finalizer from Pods that are counted or no longer needed. */
  async #release(pods: readonly KubeObject[]): Promise<void> {
    for (const pod of pods.filter(isTracked)) {
      const { uid, finalizers = [] } = pod.metadata;
      const remaining = finalizers.filter((finalizer) => finalizer !== TRACKING_FINALIZER);
      await this.#client.patch(podPath(pod), { metadata: { uid, finalizers: remaining } });
    }
  }

  /** Schedules a look at all Jobs. The earliest scheduled time counts. */
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

/** Whether a Pod has ended. One that is being deleted counts as ended at once. */
function hasEnded(pod: KubeObject): boolean {
  const { phase = "" } = podStatusOf(pod);
  return ["Succeeded", "Failed"].includes(phase) || pod.metadata.deletionTimestamp !== undefined;
}

function isTracked({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(TRACKING_FINALIZER) === true;
}

function ownerOf({ metadata }: KubeObject): string | undefined {
  return metadata.ownerReferences?.find(({ controller, kind }) => controller && kind === "Job")?.uid;
}
