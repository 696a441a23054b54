import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { raceAbort } from "../../../shared/race-abort.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS } from "../../kubernetes/client/kinds.ts";
import { type Change, WatchedObjects } from "../../kubernetes/client/watched-objects.ts";
import { LABEL, SELECTOR } from "./job-labels.ts";
import {
  JobObject,
  type ObservedJob,
  type ObservedPod,
  observedJob,
  observedPod,
  PodObject,
} from "./job-objects.ts";

export interface WatchedJobsOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long the watches continue without an observation, so that the next action needs no list. */
  readonly lingerMs?: number;
}

export interface JobSnapshot {
  /** Undefined until the watch shows the Job; `gone` if it was deleted or replaced. */
  readonly job: ObservedJob | "gone" | undefined;
  /** The Job's first pod. */
  readonly pod: (ObservedPod & { readonly isGone: boolean }) | undefined;
}

/** How long the watch may lag before an unseen Job is requested. */
const UNSEEN_FIRST_MS = 2_000;
const UNSEEN_RETRY_MS = 30_000;

/**
 * The observed Jobs and pods, with one watch each. The watches select what any worker created, because an adopted Job
 * may have another owner. They run while something is observed, and a while longer.
 */
export class WatchedJobs {
  readonly #options: WatchedJobsOptions;
  readonly #observations = new Set<JobObservation>();
  #running: Running | undefined;

  constructor(options: WatchedJobsOptions) {
    this.#options = options;
  }

  /** Observes a Job. Release the observation after use. */
  observe(job: ObservedJob): JobObservation {
    const running = this.#run();
    const observation = new JobObservation(job, this.#options, running.jobs.synced, () =>
      this.#release(observation),
    );
    this.#observations.add(observation);
    const name = { namespace: this.#options.cluster.namespace, name: job.name };
    const known = running.jobs.get(name);
    if (known) observation.setJob(known);
    for (const pod of running.pods.values()) observation.setPod(pod);
    return observation;
  }

  close(): void {
    this.#running?.end.abort(new Error("the runtime is closed"));
    this.#running = undefined;
  }

  #run(): Running {
    if (this.#running) return this.#running;
    const { cluster, clock, log } = this.#options;
    const selection = { namespace: cluster.namespace, labelSelector: SELECTOR };
    const common = { cluster, selection, clock, log };
    const jobs = new WatchedObjects({
      ...common,
      kind: KINDS.job,
      project: (object) => projected(JobObject, observedJob, object),
      onChange: (change: Change<ObservedJob>) => {
        for (const observation of this.#observations) observation.jobChanged(change);
      },
    });
    const pods = new WatchedObjects({
      ...common,
      kind: KINDS.pod,
      project: (object) => projected(PodObject, observedPod, object),
      onChange: (change: Change<ObservedPod>) => {
        for (const observation of this.#observations) observation.podChanged(change);
      },
    });
    const end = new AbortController();
    this.#running = { jobs, pods, end };
    void jobs.run(end.signal);
    void pods.run(end.signal);
    return this.#running;
  }

  #release(observation: JobObservation): void {
    this.#observations.delete(observation);
    if (this.#observations.size === 0) void this.#linger();
  }

  async #linger(): Promise<void> {
    const { clock, lingerMs = 60_000 } = this.#options;
    const running = this.#running;
    if (!running) return;
    await clock.sleep(lingerMs, running.end.signal).catch(() => undefined);
    if (this.#observations.size > 0 || this.#running !== running) return;
    this.close();
  }
}

interface Running {
  readonly jobs: WatchedObjects<ObservedJob>;
  readonly pods: WatchedObjects<ObservedPod>;
  readonly end: AbortController;
}

export class JobObservation {
  readonly #job: ObservedJob;
  readonly #options: WatchedJobsOptions;
  readonly #onRelease: () => void;
  readonly #released = new AbortController();
  #snapshot: JobSnapshot = { job: undefined, pod: undefined };
  #change = Promise.withResolvers<void>();

  constructor(job: ObservedJob, options: WatchedJobsOptions, synced: Promise<void>, onRelease: () => void) {
    this.#job = job;
    this.#options = options;
    this.#onRelease = onRelease;
    void this.#requestWhileUnseen(synced).catch(() => undefined);
  }

  get snapshot(): JobSnapshot {
    return this.#snapshot;
  }

  setJob(job: ObservedJob): void {
    if (job.name !== this.#job.name) return;
    this.#set({ ...this.#snapshot, job: job.uid === this.#job.uid ? job : "gone" });
  }

  jobChanged(change: Change<ObservedJob>): void {
    if (change.kind === "set") this.setJob(change.value);
    else if (change.before.uid === this.#job.uid) this.#set({ ...this.#snapshot, job: "gone" });
  }

  setPod(pod: ObservedPod): void {
    if (pod.ownerUid !== this.#job.uid) return;
    const known = this.#snapshot.pod;
    if (known === undefined || known.uid === pod.uid || isBefore(pod, known)) {
      this.#set({ ...this.#snapshot, pod: { ...pod, isGone: false } });
    }
  }

  podChanged(change: Change<ObservedPod>): void {
    if (change.kind === "set") this.setPod(change.value);
    else if (change.before.uid === this.#snapshot.pod?.uid) this.#podGone();
  }

  /** Requests the pods now instead of waiting for the watch. Rejects like `Cluster.list`. */
  async refreshPod(signal: AbortSignal): Promise<void> {
    const { cluster } = this.#options;
    const labelSelector = `${LABEL.key}=${this.#job.labels[LABEL.key]}`;
    const selection = { namespace: cluster.namespace, labelSelector };
    const { items } = await cluster.list(KINDS.pod, selection, PodObject, signal);
    const pods = items.map(observedPod);
    for (const pod of pods) this.setPod(pod);
    if (!pods.some(({ uid }) => uid === this.#snapshot.pod?.uid)) this.#podGone();
  }

  /** Resolves to the first value that `judge` returns for a snapshot. Rejects with the signal's reason. */
  async until<T>(judge: (snapshot: JobSnapshot) => T | undefined, signal: AbortSignal): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      const { promise } = this.#change;
      const found = judge(this.#snapshot);
      if (found !== undefined) return found;
      await raceAbort(promise, signal);
    }
  }

  release(): void {
    this.#released.abort(new Error("the observation is released"));
    this.#onRelease();
  }

  #podGone(): void {
    const { pod } = this.#snapshot;
    if (pod) this.#set({ ...this.#snapshot, pod: { ...pod, isGone: true } });
  }

  #set(snapshot: JobSnapshot): void {
    this.#snapshot = snapshot;
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  /** Requests the Job until it is seen: the watch never shows a Job that was deleted before the watch began. */
  async #requestWhileUnseen(synced: Promise<void>): Promise<void> {
    const { cluster, clock } = this.#options;
    const { signal } = this.#released;
    await raceAbort(synced, signal);
    const name = { namespace: cluster.namespace, name: this.#job.name };
    for (let waitMs = UNSEEN_FIRST_MS; ; waitMs = UNSEEN_RETRY_MS) {
      await clock.sleep(waitMs, signal);
      if (this.#snapshot.job !== undefined) return;
      const found = await cluster.find(KINDS.job, name, JobObject, signal).catch(() => "unknown" as const);
      if (found === undefined) this.#set({ ...this.#snapshot, job: "gone" });
      else if (found !== "unknown") this.setJob(observedJob(found));
    }
  }
}

/** Converts an object; an invalid one is ignored. */
function projected<O, T>(schema: z.ZodMiniType<O>, see: (object: O) => T, object: unknown): T | undefined {
  const parsed = z.safeParse(schema, object);
  return parsed.success ? see(parsed.data) : undefined;
}

function isBefore(one: ObservedPod, other: ObservedPod): boolean {
  return one.createdMs === other.createdMs ? one.name < other.name : one.createdMs < other.createdMs;
}
