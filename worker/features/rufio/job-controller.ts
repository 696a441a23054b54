import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Action } from "../../core/action/action.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import type { Change } from "../../kubernetes/client/watched-objects.ts";
import { Controller } from "../../kubernetes/controller/controller.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { isTrue, type Progress } from "./conditions.ts";
import { nextStep, taskNameOf } from "./job-step.ts";
import { patchStatus } from "./patch-status.ts";
import type {
  JobState,
  JobTarget,
  OpenJob,
  RufioApi,
  RufioJob,
  RufioMachine,
  RufioTask,
} from "./rufio-api.ts";
import type { RufioController } from "./rufio-controller.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import { type RufioObjects, shareKey } from "./rufio-objects.ts";
import { actionOf } from "./rufio-task-action.ts";

export interface JobControllerOptions {
  readonly api: RufioApi;
  readonly cluster: Cluster;
  readonly objects: RufioObjects;
  readonly lease: RufioLease;
  /** The watched namespace; undefined means all. */
  readonly namespace: string | undefined;
  readonly owns: (key: string) => boolean;
  /** Returns the name of a Machine in the inventory. */
  readonly machineName: (machine: ObjectName) => string;
  /** Decides whether a Job may name its Machine. Asked before anything about the Machine is written or copied. */
  readonly references: ReferenceRefusal;
  /** Returns why the policy forbids an action on a machine of the inventory; undefined if the policy allows it. */
  readonly refusal: (action: Action, machineName: string) => string | undefined;
  readonly image: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const MAX_JOBS = 16;
/** How long to wait for the watch to show a new object. After that, the object may have been deleted before the watch saw it. */
const WATCH_LAG_MS = 5_000;

/** Advances Jobs from Task to Task, as Rufio's Job controller does. */
export class JobController implements RufioController {
  readonly #options: JobControllerOptions;
  readonly #controller: Controller;
  /** The Jobs that wait for a machine, by `waitingKey`. */
  readonly #waiting = new Map<string, Map<string, ObjectName>>();
  /** The UIDs of waiting Jobs that were logged. */
  readonly #loggedWaiting = new Set<string>();
  /** The Tasks that were deleted before they ended, by the UID of their Job. */
  readonly #deletedTasks = new Map<string, ObjectName>();
  /** The last created Task of each Job, by the Job's UID. It is not created again until the watch shows it. */
  readonly #created = new Map<string, { readonly index: number; readonly atMs: number }>();

  constructor(options: JobControllerOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#controller = new Controller({
      reconcile: (name, signal) => this.#reconcile(name, signal),
      // `recheckAll` follows once the Lease is free.
      isExpected: (thrown) => thrown instanceof LeaseHeld,
      failure: { message: "Rufio job update failed, retrying", field: "job", warnsOncePer: "object" },
      concurrency: MAX_JOBS,
      clock,
      log,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal);
  }

  recheckAll(): void {
    for (const job of this.#options.objects.jobs.values()) if (!job.finished) this.#controller.add(job.name);
  }

  jobChanged(change: Change<RufioJob>): void {
    const { before } = change;
    if (before && (change.kind === "gone" || change.value.uid !== before.uid)) this.#forget(before.uid);
    if (change.kind === "gone") {
      if (!change.before.finished) this.#stopWaiting(change.before);
      return;
    }
    if (change.value.finished) this.#forget(change.value.uid);
    else this.#controller.add(change.name);
  }

  taskChanged(change: Change<RufioTask>): void {
    const { name, before } = change;
    if (change.kind === "gone" && before?.owner && !before.finished) {
      const job = this.#options.objects.jobs.get({ namespace: name.namespace, name: before.owner.name });
      if (job?.uid === before.owner.uid && !job.finished) this.#deletedTasks.set(job.uid, name);
    }
    for (const owner of [before?.owner, change.kind === "set" ? change.value.owner : undefined]) {
      if (owner) this.#controller.add({ namespace: name.namespace, name: owner.name });
    }
  }

  machineChanged({ name, before, ...change }: Change<RufioMachine>): void {
    if (change.kind === "gone" || before?.connection === change.value.connection) return;
    for (const key of [keyOf(name), waitingKey({ name })]) {
      for (const job of this.#waiting.get(key)?.values() ?? []) this.#controller.add(job);
      this.#waiting.delete(key);
    }
  }

  #stopWaiting(job: OpenJob): void {
    const key = waitingKey(job);
    const waiting = this.#waiting.get(key);
    waiting?.delete(keyOf(job.name));
    if (waiting?.size === 0) this.#waiting.delete(key);
  }

  #forget(uid: string): void {
    this.#loggedWaiting.delete(uid);
    this.#deletedTasks.delete(uid);
    this.#created.delete(uid);
  }

  async #reconcile(name: ObjectName, signal: AbortSignal): Promise<number | undefined> {
    const { objects, lease, owns } = this.#options;
    const job = objects.jobs.get(name);
    if (!objects.isSynced || !job || job.finished || job.deleted) return undefined;
    if (!lease.isFree || !owns(shareKey(objects.machineOf(job) ?? job.name))) return undefined;
    return this.#advance(job, signal);
  }

  async #advance(job: OpenJob, signal: AbortSignal): Promise<number | undefined> {
    const { api, cluster, objects, lease, clock, log } = this.#options;
    const deleted = this.#deletedTasks.get(job.uid);
    const lost = job.problem ?? (deleted && api.texts.taskLost(deleted));
    const step =
      lost === undefined
        ? nextStep(job, (task) => objects.tasks.get(task))
        : ({ kind: "fail", reason: lost } as const);
    const machine = objects.machineOf(job);
    if (step.kind === "create") {
      // The policy decides first, so that a Job cannot learn about another namespace or copy from it.
      const problem =
        this.#referenceProblem(job) ??
        (machine && this.#policyProblem(job, step.index, machine)) ??
        this.#repeatProblem(job, step.index);
      if (problem !== undefined) {
        await lease.confirmFree(signal);
        return this.#fail(job, step.index, problem, signal);
      }
    }
    const isMissing = !machine || !objects.machines.get(machine);
    if (isMissing && job.problem === undefined) return this.#waitForMachine(job, signal);
    if (step.kind === "wait" && isTrue(job.status.conditions, "Running")) return undefined;
    const created = this.#created.get(job.uid);
    if (step.kind === "create" && created?.index === step.index) {
      const remainingMs = created.atMs + WATCH_LAG_MS - clock.monotonicMs();
      if (remainingMs > 0) return remainingMs;
    }
    await lease.confirmFree(signal);
    switch (step.kind) {
      case "create":
        await this.#write(job, { kind: "running", starts: step.index }, signal);
        await this.#createTask(job, step.index, signal);
        this.#created.set(job.uid, { index: step.index, atMs: clock.monotonicMs() });
        return undefined;
      case "take-away": {
        const { task, uid } = step;
        log.info({ job: keyOf(job.name), task: keyOf(task) }, "stale Rufio task deleted");
        await cluster.remove(KINDS.rufioTask, task, { uid, propagation: "Background" }, signal);
        return undefined;
      }
      case "wait":
        return this.#write(job, { kind: "running" }, signal);
      case "fail":
        return this.#write(job, { kind: "failed", reason: step.reason }, signal);
      case "complete":
        return this.#write(job, { kind: "completed" }, signal);
      default:
        return step satisfies never;
    }
  }

  #referenceProblem({ name, machine }: OpenJob): string | undefined {
    const { api, references } = this.#options;
    const from = { kind: api.job.kind, ...name };
    return machine && references({ from, to: { kind: api.machine.kind, ...machine } });
  }

  /** Returns why the policy forbids the action of a Task. */
  #policyProblem(job: OpenJob, index: number, at: ObjectName): string | undefined {
    const { api, machineName, refusal, image, version } = this.#options;
    const read = api.readTask(job.tasks[index]);
    // An invalid Task fails with its own reason.
    if (!read.ok) return undefined;
    const machine = machineName(at);
    const task = { name: taskNameOf(job.name, index).name, uid: "" };
    const workflowId = keyOf(job.name);
    return refusal(actionOf(read, { workflowId, task, machine, image, version }), machine);
  }

  #repeatProblem({ maybeStarted, tasks }: OpenJob, index: number): string | undefined {
    const read = this.#options.api.readTask(tasks[index]);
    if (!maybeStarted || !read.ok || read.idempotent) return undefined;
    return `another controller may have started ${read.action}, which is not idempotent, so it is not run again`;
  }

  #fail(job: OpenJob, index: number, problem: string, signal: AbortSignal): Promise<undefined> {
    const reason = this.#options.api.texts.notStarted(job, index, problem);
    return this.#write(job, { kind: "failed", reason }, signal);
  }

  async #createTask(job: OpenJob, index: number, signal: AbortSignal): Promise<void> {
    const { api, cluster, objects } = this.#options;
    const isKnown = (name: ObjectName) => objects.tasks.get(name) !== undefined;
    const problem = await api.taskObjects?.create(job, index, cluster, isKnown, signal);
    if (problem !== undefined) await this.#fail(job, index, problem, signal);
  }

  /** Sets a condition that says that the machine is missing. Rufio itself retries without saying so. */
  async #waitForMachine(job: OpenJob, signal: AbortSignal): Promise<undefined> {
    const { lease, log } = this.#options;
    const key = waitingKey(job);
    const waiting = this.#waiting.get(key) ?? new Map<string, ObjectName>();
    this.#waiting.set(key, waiting.set(keyOf(job.name), job.name));
    await lease.confirmFree(signal);
    const reason = this.#missingMachine(job);
    await this.#write(job, { kind: "waiting", reason }, signal);
    if (this.#loggedWaiting.has(job.uid)) return;
    this.#loggedWaiting.add(job.uid);
    log.warn({ job: keyOf(job.name), reason }, "Rufio job waiting for its machine");
  }

  #missingMachine({ name, machine }: OpenJob): string {
    const { api, namespace } = this.#options;
    if (!machine) return api.texts.noMachine(name.namespace);
    if (namespace === undefined || namespace === machine.namespace) return api.texts.machineMissing(machine);
    return `${api.machine.kind.toLowerCase()} ${keyOf(machine)} is not in ${namespace}, the namespace that is watched`;
  }

  async #write(job: OpenJob, to: JobState, signal: AbortSignal): Promise<undefined> {
    const { api, cluster, objects, clock, log } = this.#options;
    const { name, uid, resourceVersion, status } = job;
    const object = { kind: api.job, name, uid, schema: api.jobSchema, known: { resourceVersion, status } };
    let hasRun = false;
    const change = (found: Progress) => {
      hasRun = isTrue(found.conditions, "Running");
      return api.jobPatch(job, found, to, clock.now());
    };
    if ((await patchStatus(cluster, object, change, signal)) !== "written") return;
    const machine = objects.machineOf(job);
    const facts = { job: keyOf(name), ...(machine && { rufioMachine: keyOf(machine) }) };
    if (to.kind === "running" && !hasRun)
      log.info({ ...facts, tasks: job.tasks.length }, "Rufio job started");
    else if (to.kind === "completed") log.info(facts, "Rufio job completed");
    else if (to.kind === "failed") log.warn({ ...facts, reason: to.reason }, "Rufio job failed");
  }
}

/** Describes what a Job waits for: its machine, or any machine in its namespace with its connection. */
function waitingKey({ name, machine }: JobTarget): string {
  return machine ? keyOf(machine) : `${name.namespace}/`;
}
