import type { Clock } from "../../../shared/clock.ts";
import { oneLine } from "../../../shared/contract/result.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { WorkQueue } from "../../../shared/work-queue.ts";
import type { Action } from "../../core/action/action.ts";
import type { ReferenceRefusal } from "../../core/action/reference.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { apiVersionOf, KINDS, keyOf, nameOfKey, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import type { Change } from "../../kubernetes/client/watched-objects.ts";
import { isFinished, isTrue, type Progress, timeText, withCondition } from "./conditions.ts";
import { nextStep, taskNameOf } from "./job-step.ts";
import { patchStatus } from "./patch-status.ts";
import {
  ConnectionOf,
  JobObject,
  MANAGED_BY,
  type OpenJob,
  ownerOf,
  type RufioJob,
  type RufioMachine,
  type RufioTask,
  TaskObject,
} from "./rufio-kinds.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import { type RufioObjects, shareKey } from "./rufio-objects.ts";
import { actionOf, readTask } from "./rufio-task-action.ts";

export interface JobControllerOptions {
  readonly cluster: Pick<Cluster, "get" | "find" | "create" | "patch" | "remove">;
  readonly objects: Pick<RufioObjects, "isSynced" | "jobs" | "tasks" | "machines">;
  readonly lease: Pick<RufioLease, "isFree" | "confirmFree">;
  /** The watched namespace; undefined means all. */
  readonly namespace: string | undefined;
  readonly owns: (key: string) => boolean;
  /** The inventory's name of a Machine. */
  readonly machineName: (machine: ObjectName) => string;
  /** Decides before anything of the Machine is written or copied. */
  readonly references: ReferenceRefusal;
  /** Why the policy forbids an action at a machine of the inventory; undefined if it allows it. */
  readonly refusal: (action: Action, machineName: string) => string | undefined;
  readonly image: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const MAX_JOBS = 16;
/** A watch shows a new object within milliseconds; after this time it may have been deleted unseen. */
const WATCH_LAG_MS = 5_000;
const MAX_LABEL = 63;

/** Advances Jobs from Task to Task, as Rufio's Job controller does. */
export class JobController {
  readonly #options: JobControllerOptions;
  readonly #work: WorkQueue;
  readonly #waiting = new Map<string, Set<string>>();
  /** UIDs of Jobs whose waiting was logged. */
  readonly #loggedWaiting = new Set<string>();
  /** Tasks deleted before their end, by the UID of their Job. */
  readonly #deletedTasks = new Map<string, ObjectName>();
  /** The last created Task, by the UID of its Job: not created again until the watch shows it. */
  readonly #created = new Map<string, { readonly index: number; readonly atMs: number }>();

  constructor(options: JobControllerOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#work = new WorkQueue({
      work: (key, signal) => this.#reconcile(nameOfKey(key), signal),
      onFailure: (job, { thrown, failures, waitMs }) => {
        const facts = { job, error: textOf(thrown), waitMs };
        logOutage(log, failures === 1, facts, "Rufio job update failed, retrying");
      },
      clock,
      concurrency: MAX_JOBS,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#work.run(signal);
  }

  /** Rechecks all Jobs, because ownership has changed. */
  recheckAll(): void {
    for (const job of this.#options.objects.jobs.values()) if (!job.finished) this.#work.add(keyOf(job.name));
  }

  jobChanged(change: Change<RufioJob>): void {
    const { before } = change;
    if (before && (change.kind === "gone" || change.value.uid !== before.uid)) this.#forget(before.uid);
    if (change.kind === "gone") {
      if (!change.before.finished) this.#stopWaiting(change.before);
      return;
    }
    if (change.value.finished) this.#forget(change.value.uid);
    else this.#work.add(keyOf(change.name));
  }

  taskChanged(change: Change<RufioTask>): void {
    const { name, before } = change;
    if (change.kind === "gone" && before?.owner && !before.finished) {
      const job = this.#options.objects.jobs.get({ namespace: name.namespace, name: before.owner.name });
      if (job?.uid === before.owner.uid && !job.finished) this.#deletedTasks.set(job.uid, name);
    }
    for (const owner of [before?.owner, change.kind === "set" ? change.value.owner : undefined]) {
      if (owner) this.#work.add(keyOf({ namespace: name.namespace, name: owner.name }));
    }
  }

  machineChanged({ kind, name, before }: Change<RufioMachine>): void {
    if (kind === "gone" || before) return;
    const key = keyOf(name);
    for (const job of this.#waiting.get(key) ?? []) this.#work.add(job);
    this.#waiting.delete(key);
  }

  #stopWaiting(job: OpenJob): void {
    const key = keyOf(job.machine);
    const waiting = this.#waiting.get(key);
    waiting?.delete(keyOf(job.name));
    if (waiting?.size === 0) this.#waiting.delete(key);
  }

  #forget(uid: string): void {
    this.#loggedWaiting.delete(uid);
    this.#deletedTasks.delete(uid);
    this.#created.delete(uid);
  }

  async #reconcile(name: ObjectName, signal: AbortSignal): Promise<void> {
    const { objects, lease, owns } = this.#options;
    const job = objects.jobs.get(name);
    if (!objects.isSynced || !job || job.finished || job.deleted) return;
    if (!lease.isFree || !owns(shareKey(job.machine))) return;
    try {
      await this.#advance(job, signal);
    } catch (thrown) {
      // Rechecked once the Lease is free.
      if (!(thrown instanceof LeaseHeld)) throw thrown;
    }
  }

  async #advance(job: OpenJob, signal: AbortSignal): Promise<void> {
    const { cluster, objects, lease, clock, log } = this.#options;
    const deleted = this.#deletedTasks.get(job.uid);
    const step = deleted
      ? ({ kind: "fail", reason: `task ${keyOf(deleted)} was deleted before its end` } as const)
      : nextStep(job, (task) => objects.tasks.get(task));
    if (step.kind === "create") {
      // First, so that a Job learns nothing of another namespace, and nothing of it is copied into the Job's.
      const problem = this.#referenceProblem(job) ?? this.#policyProblem(job, step.index);
      if (problem !== undefined) {
        await lease.confirmFree(signal);
        return this.#fail(job, step.index, problem, signal);
      }
    }
    if (!objects.machines.get(job.machine)) return this.#waitForMachine(job, signal);
    if (step.kind === "wait" && isTrue(job.status.conditions, "Running")) return;
    const created = this.#created.get(job.uid);
    if (step.kind === "create" && created?.index === step.index) {
      const remainingMs = created.atMs + WATCH_LAG_MS - clock.monotonicMs();
      if (remainingMs > 0) return this.#work.addAfter(keyOf(job.name), remainingMs);
    }
    await lease.confirmFree(signal);
    switch (step.kind) {
      case "create":
        await this.#write(job, "running", signal);
        await this.#createTask(job, step.index, signal);
        this.#created.set(job.uid, { index: step.index, atMs: clock.monotonicMs() });
        return;
      case "take-away": {
        const { task, uid } = step;
        log.info({ job: keyOf(job.name), task: keyOf(task) }, "stale Rufio task deleted");
        await cluster.remove(KINDS.rufioTask, task, { uid, propagation: "Background" }, signal);
        return;
      }
      case "wait":
        return this.#write(job, "running", signal);
      case "fail":
        return this.#write(job, { failed: step.reason }, signal);
      case "complete":
        return this.#write(job, "completed", signal);
      default:
        return step satisfies never;
    }
  }

  #referenceProblem({ name, machine }: OpenJob): string | undefined {
    const from = { kind: KINDS.rufioJob.kind, ...name };
    return this.#options.references({ from, to: { kind: "Machine", ...machine } });
  }

  /** Why the policy forbids the Task's action. */
  #policyProblem(job: OpenJob, index: number): string | undefined {
    const { machineName, refusal, image, version } = this.#options;
    const read = readTask(job.tasks[index]);
    // The Task itself shows why it cannot be read.
    if (!read.ok) return undefined;
    const machine = machineName(job.machine);
    const task = { name: taskNameOf(job.name, index).name, uid: "" };
    const workflowId = keyOf(job.name);
    return refusal(actionOf(read, { workflowId, task, machine, image, version }), machine);
  }

  #fail(job: OpenJob, index: number, problem: string, signal: AbortSignal): Promise<void> {
    const failed = `failed to create Task ${keyOf(taskNameOf(job.name, index))}: ${problem}`;
    return this.#write(job, { failed }, signal);
  }

  async #createTask(job: OpenJob, index: number, signal: AbortSignal): Promise<void> {
    const { cluster } = this.#options;
    const name = taskNameOf(job.name, index);
    try {
      const machine = await cluster.get(KINDS.rufioMachine, job.machine, ConnectionOf, signal);
      const task = taskObject(job, index, machine.spec.connection);
      await cluster.create(KINDS.rufioTask, name.namespace, task, TaskObject, signal);
    } catch (thrown) {
      if (isKubernetesError(thrown, "invalid")) {
        return this.#fail(job, index, textOf(thrown), signal);
      }
      if (!isKubernetesError(thrown, "already-exists")) throw thrown;
      // Our own request whose response was lost, or the watch is stale; it decides about anything else.
      const found = await cluster.find(KINDS.rufioTask, name, TaskObject, signal);
      if (found && ownerOf(found.metadata)?.uid !== job.uid && !this.#options.objects.tasks.get(name))
        throw thrown;
    }
  }

  /** Unlike Rufio, which retries forever, this sets a condition. */
  async #waitForMachine(job: OpenJob, signal: AbortSignal): Promise<void> {
    const { lease, namespace, log } = this.#options;
    const key = keyOf(job.machine);
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(keyOf(job.name)));
    await lease.confirmFree(signal);
    const isOutside = namespace !== undefined && namespace !== job.machine.namespace;
    const reason = isOutside
      ? `machine ${key} is not in ${namespace}, the namespace that is watched`
      : `machine ${key} not found`;
    await this.#write(job, { waits: reason }, signal);
    if (this.#loggedWaiting.has(job.uid)) return;
    this.#loggedWaiting.add(job.uid);
    log.warn({ job: keyOf(job.name), reason }, "Rufio job waiting for its machine");
  }

  async #write(job: OpenJob, to: JobState, signal: AbortSignal): Promise<void> {
    const { cluster, clock, log } = this.#options;
    const { name, uid, resourceVersion, status } = job;
    const object = { kind: KINDS.rufioJob, name, uid, schema: JobObject, known: { resourceVersion, status } };
    const change = (found: Progress) => jobStatus(found, to, clock.now());
    if ((await patchStatus(cluster, object, change, signal)) !== "written") return;
    const facts = { job: keyOf(name), rufioMachine: keyOf(job.machine) };
    if (to === "running") log.info({ ...facts, tasks: job.tasks.length }, "Rufio job started");
    else if (to === "completed") log.info(facts, "Rufio job completed");
    else if ("failed" in to) log.warn({ ...facts, reason: to.failed }, "Rufio job failed");
  }
}

type JobState = "running" | "completed" | { readonly failed: string } | { readonly waits: string };

/** The status as Rufio writes it: `Running` stays true at the end, and a failed Job has no completion time. */
function jobStatus(before: Progress, to: JobState, nowMs: number) {
  if (isFinished(before)) return undefined;
  const { conditions, startTime } = before;
  const now = timeText(nowMs);
  if (typeof to === "object" && "waits" in to) {
    const found = conditions.find(({ type }) => type === "Running");
    if (found?.status === "False" && found.message === to.waits) return undefined;
    return { conditions: withCondition(conditions, "Running", "False", to.waits) };
  }
  const isRunning = isTrue(conditions, "Running");
  const running = isRunning ? conditions : withCondition(conditions, "Running");
  const started = isRunning && startTime ? {} : { startTime: now };
  if (to === "running") return isRunning ? undefined : { ...started, conditions: running };
  if (to === "completed") {
    return { ...started, conditions: withCondition(running, "Completed"), completionTime: now };
  }
  return { ...started, conditions: withCondition(running, "Failed", "True", oneLine(to.failed)) };
}

/** As Rufio creates it (`createTaskWithOwner`), plus this worker's label. */
function taskObject(job: OpenJob, index: number, connection: unknown): Readonly<Record<string, unknown>> {
  const { name, uid } = job;
  const { kind } = KINDS.rufioJob;
  return {
    metadata: {
      ...taskNameOf(name, index),
      labels: {
        ...MANAGED_BY,
        // A Job's name may be longer than a label.
        ...(name.name.length <= MAX_LABEL && { "owner-name": name.name }),
      },
      ownerReferences: [
        { apiVersion: apiVersionOf(KINDS.rufioJob), kind, name: name.name, uid, controller: true },
      ],
    },
    spec: { task: job.tasks[index], connection },
  };
}
