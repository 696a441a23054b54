import * as z from "zod/mini";
import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { Cluster, RemoveOptions } from "../../kubernetes/client/cluster.ts";
import { KINDS, type Kind } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError, KubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { LAUNCH_PATH } from "../../kubernetes/leader/lock-label.ts";
import { ANNOTATION, LABEL, SELECTOR } from "./job-labels.ts";
import {
  JobObject,
  type ObservedJob,
  type ObservedPod,
  observedJob,
  observedPod,
  PodObject,
  type Reason,
  type StopCause,
} from "./job-objects.ts";
import { ACKNOWLEDGED_TTL_SECONDS } from "./orphaned-jobs.ts";

/**
 * The result of a request about a Job. `gone`: the first request that arrived found no Job. `lost`: it is gone after a
 * request without an answer, which may have been carried out.
 */
export type Written = "done" | "gone" | "lost";

/** Identifies a Job: another UID is another launch. */
export interface JobId {
  readonly name: string;
  readonly uid: string;
}

interface LabelledJob extends JobId {
  readonly labels: Readonly<Record<string, string>>;
}

const RETRY: Backoff = { firstMs: 250, maxMs: 5_000, jitter: 0.5 };
const LONGEST_REASON = 500;
/** A deadline that has always passed: the controller ends the Job and creates no more pods. */
const PAST_DEADLINE_SECONDS = 1;

const EventObject = z.object({
  type: z.optional(z.string()),
  reason: z.optional(z.string()),
  message: z.optional(z.string()),
  metadata: z.object({ creationTimestamp: z.optional(z.string()) }),
  lastTimestamp: z.nullish(z.string()),
});

interface PatchStep {
  readonly op: "add" | "replace" | "test";
  readonly path: string;
  readonly value: unknown;
}

type JobCluster = Pick<Cluster, "namespace" | "create" | "find" | "list" | "patch" | "remove">;

export class JobClient {
  readonly #cluster: JobCluster;
  readonly #clock: Clock;

  constructor(cluster: JobCluster, clock: Clock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /**
   * Creates a Job. Resolves to undefined if the name is taken, possibly by this request, repeated after a lost response.
   * `isFirst`: no earlier request can have created a Job that is gone by now.
   */
  async create(
    manifest: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<{ readonly job: ObservedJob; readonly isFirst: boolean } | undefined> {
    const { namespace } = this.#cluster;
    let isFirst = true;
    const onDoubt = () => {
      isFirst = false;
    };
    try {
      const create = () => this.#cluster.create(KINDS.job, namespace, manifest, JobObject, signal);
      return { job: observedJob(await this.#persist(signal, create, onDoubt)), isFirst };
    } catch (thrown) {
      if (isKubernetesError(thrown, "already-exists")) return undefined;
      throw thrown;
    }
  }

  async find(name: string, signal: AbortSignal): Promise<ObservedJob | undefined> {
    const found = await this.#cluster.find(KINDS.job, this.#named(name), JobObject, signal);
    return found && observedJob(found);
  }

  async list(signal: AbortSignal): Promise<ObservedJob[]> {
    const { namespace } = this.#cluster;
    const selection = { namespace, labelSelector: SELECTOR };
    return (await this.#cluster.list(KINDS.job, selection, JobObject, signal)).items.map(observedJob);
  }

  /**
   * Starts a suspended Job. `onAttempt` is called right before each request, and may throw. Resolves to `gone` also if the
   * next leader has taken over the Job.
   */
  async unsuspend(job: LabelledJob, signal: AbortSignal, onAttempt: () => void): Promise<Written> {
    const start: PatchStep = { op: "replace", path: "/spec/suspend", value: false };
    const { [LABEL.launch]: launch } = job.labels;
    const fence: PatchStep = { op: "test", path: LAUNCH_PATH, value: launch };
    const isOwn = (found: ObservedJob | undefined) =>
      found?.uid === job.uid && found.labels[LABEL.launch] === launch;
    return this.#patch(job, [fence, start], signal, { onAttempt, isOwn });
  }

  /** Ends the Job permanently: its controller creates no more pods. */
  async end(job: JobId, note: StopCause | undefined, why: string, signal: AbortSignal): Promise<Written> {
    const notes: PatchStep[] = note === undefined ? [] : [annotate(ANNOTATION.stopped, note)];
    if (why !== "") notes.push(annotate(ANNOTATION.reason, why.slice(0, LONGEST_REASON)));
    return this.#patch(job, [...notes, DEADLINE_NOW], signal);
  }

  /**
   * Marks the report as acknowledged, after which the cluster keeps the Job for a while. `end` if something in its pod
   * still runs.
   */
  async acknowledge(
    job: JobId,
    { exitCode, end }: { readonly exitCode: number | undefined; readonly end: boolean },
    signal: AbortSignal,
  ): Promise<Written> {
    return this.#patch(
      job,
      [
        annotate(ANNOTATION.acknowledged, new Date(this.#clock.now()).toISOString()),
        ...(exitCode === undefined ? [] : [annotate(ANNOTATION.exitCode, String(exitCode))]),
        { op: "add", path: "/spec/ttlSecondsAfterFinished", value: ACKNOWLEDGED_TTL_SECONDS },
        ...(end ? [DEADLINE_NOW] : []),
      ],
      signal,
    );
  }

  async remove({ name, uid }: JobId, signal: AbortSignal): Promise<void> {
    const options = { propagation: "Foreground", uid } as const;
    await this.#remove(KINDS.job, name, options, signal).catch(ignoreConflict);
  }

  /** Deletes the Job unless it has changed. `gone`: it may have changed before something else deleted it. */
  async removeIfUnchanged(
    { name, uid, resourceVersion }: ObservedJob,
    signal: AbortSignal,
  ): Promise<"removed" | "changed" | "gone"> {
    try {
      const options = { propagation: "Background", uid, resourceVersion } as const;
      return (await this.#remove(KINDS.job, name, options, signal)) ? "removed" : "gone";
    } catch (thrown) {
      if (isKubernetesError(thrown, "conflict")) return "changed";
      throw thrown;
    }
  }

  async isRunning(pod: ObservedPod, signal: AbortSignal): Promise<boolean> {
    const { namespace } = this.#cluster;
    const selection = { namespace, fieldSelector: `metadata.name=${pod.name}` };
    const list = () => this.#cluster.list(KINDS.pod, selection, PodObject, signal);
    const found = (await this.#persist(signal, list)).items.map(observedPod);
    return found.some(({ uid, phase }) => uid === pod.uid && phase !== "Failed" && phase !== "Succeeded");
  }

  /** Deletes a pod. Without `graceSeconds`, the pod's own grace period applies. */
  async removePod(
    { name, uid }: ObservedPod,
    graceSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const options = { uid, gracePeriodSeconds: graceSeconds };
    await this.#remove(KINDS.pod, name, options, signal).catch(ignoreConflict);
  }

  /** Creates a Secret. An existing one was created for the same Job, because its name is unique to the launch. */
  async createSecret(manifest: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<void> {
    const { namespace } = this.#cluster;
    const create = () => this.#cluster.create(KINDS.secret, namespace, manifest, z.unknown(), signal);
    await this.#persist(signal, create).catch((thrown: unknown) => {
      if (!isKubernetesError(thrown, "already-exists")) throw thrown;
    });
  }

  /** The newest warning about an object; undefined without one, or without the permission to list events. */
  async newestWarning(uid: string, signal: AbortSignal): Promise<Reason | undefined> {
    const { namespace } = this.#cluster;
    const selection = { namespace, fieldSelector: `involvedObject.uid=${uid}` };
    try {
      const { items } = await this.#cluster.list(KINDS.event, selection, EventObject, signal);
      const at = (event: (typeof items)[number]) =>
        Date.parse(event.lastTimestamp ?? event.metadata.creationTimestamp ?? "") || 0;
      const warnings = items.filter(({ type }) => type === "Warning");
      const newest = warnings.toSorted((one, other) => at(one) - at(other)).at(-1);
      return newest && { reason: newest.reason ?? "", message: newest.message ?? "" };
    } catch {
      return undefined;
    }
  }

  async #patch(
    { name, uid }: JobId,
    steps: readonly PatchStep[],
    signal: AbortSignal,
    {
      onAttempt,
      isOwn = (found) => found?.uid === uid,
    }: {
      readonly onAttempt?: () => void;
      readonly isOwn?: (found: ObservedJob | undefined) => boolean;
    } = {},
  ): Promise<Written> {
    const body = [{ op: "test", path: "/metadata/uid", value: uid }, ...steps];
    const patch = { type: "json", body } as const;
    let gone: Written = "gone";
    const onDoubt = () => {
      gone = "lost";
    };
    try {
      const work = async () => {
        onAttempt?.();
        return this.#cluster.patch(KINDS.job, this.#named(name), patch, z.unknown(), signal);
      };
      await this.#persist(signal, work, onDoubt);
      return "done";
    } catch (thrown) {
      if (isKubernetesError(thrown, "not-found")) return gone;
      // A failed `test` is an invalid request as well.
      if (isKubernetesError(thrown, "invalid") && !isOwn(await this.find(name, signal))) return gone;
      throw thrown;
    }
  }

  #named(name: string) {
    return { namespace: this.#cluster.namespace, name };
  }

  #remove(kind: Kind, name: string, options: RemoveOptions, signal: AbortSignal): Promise<boolean> {
    return this.#persist(signal, () => this.#cluster.remove(kind, this.#named(name), options, signal));
  }

  /**
   * Retries until the API responds; all these requests are idempotent. `onDoubt` is called if one may have been carried out
   * without an answer: if the object is gone afterwards, it may have existed.
   */
  async #persist<T>(signal: AbortSignal, work: () => Promise<T>, onDoubt?: () => void): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      let waitMs = backoffMs(RETRY, attempt);
      try {
        return await work();
      } catch (thrown) {
        if (!(thrown instanceof KubernetesError) || !thrown.passing) throw thrown;
        if (thrown.reason !== "too-many-requests") onDoubt?.();
        waitMs = Math.max(waitMs, thrown.retryAfterMs ?? 0);
        await this.#clock.sleep(waitMs, signal).catch(() => {
          throw thrown;
        });
      }
    }
  }
}

const DEADLINE_NOW: PatchStep = {
  op: "add",
  path: "/spec/activeDeadlineSeconds",
  value: PAST_DEADLINE_SECONDS,
};

/** The path of an annotation: a slash within a name is `~1` (RFC 6901). */
function annotate(key: string, value: string): PatchStep {
  return { op: "add", path: `/metadata/annotations/${key.replaceAll("/", "~1")}`, value };
}

/** Ignores a conflict: another object has the name now, so the one to delete is gone. */
function ignoreConflict(thrown: unknown): void {
  if (!isKubernetesError(thrown, "conflict")) throw thrown;
}
