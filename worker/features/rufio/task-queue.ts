import type { Clock } from "../../../shared/clock.ts";
import { oneLine } from "../../../shared/contract/result.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Action, ActionId } from "../../core/action/action.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { keyOf, nameOfKey, type ObjectName } from "../../kubernetes/client/kinds.ts";
import type { Change } from "../../kubernetes/client/watched-objects.ts";
import { Controller } from "../../kubernetes/controller/controller.ts";
import { ObjectIndex } from "../../kubernetes/controller/object-index.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { HeldQueue } from "../../sources/held-queue.ts";
import { RUFIO_AGENT_ID } from "../shared/source-agent-ids.ts";
import { patchTask } from "./patch-status.ts";
import type { OpenTask, RufioApi, RufioJob, RufioTask } from "./rufio-api.ts";
import type { RufioController } from "./rufio-controller.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import { type RufioObjects, shareKey } from "./rufio-objects.ts";
import { actionOf } from "./rufio-task-action.ts";
import { type MissingSecret, secretRetryMs } from "./secret-retry.ts";

export interface TaskQueueOptions {
  readonly api: RufioApi;
  readonly cluster: Cluster;
  readonly objects: RufioObjects;
  readonly lease: RufioLease;
  readonly owns: (key: string) => boolean;
  /** Returns the name of a Machine in the inventory. */
  readonly machineName: (machine: ObjectName) => string;
  readonly references: ReferenceRefusal;
  readonly missingSecret: MissingSecret;
  readonly image: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

type Decision =
  | { readonly kind: "do"; readonly machine: ObjectName }
  | { readonly kind: "leave" }
  /** The Machine may still be created, for example by the same `kubectl apply`. */
  | { readonly kind: "wait"; readonly reason: string }
  | { readonly kind: "fail"; readonly reason: string };

const MAX_CONCURRENT = 16;
/** How long a Task without a Job waits for its Machine. */
const MACHINE_WITHIN_MS = 30_000;

/** Queues the unfinished Tasks, including those that this worker did not create. */
export class TaskQueue implements RufioController {
  /** The queued Tasks, by UID. */
  readonly held: HeldQueue<{ readonly id: string; readonly key: string }>;
  readonly #options: TaskQueueOptions;
  readonly #controller: Controller;
  /** The Tasks that have ended, by UID, until the watch shows it. */
  readonly #ended = new Set<string>();
  /** The unfinished Tasks, by the UID of their Job. */
  readonly #ofJob = new ObjectIndex(({ finished, owner }: RufioTask) =>
    owner && !finished ? [owner.uid] : [],
  );
  /** Since when each Task has been waiting for its Machine, by UID, in monotonic milliseconds. */
  readonly #unmatched = new Map<string, number>();
  /** Why each Task waits for a Secret, by UID. */
  readonly #secretless = new Map<string, string>();
  readonly #cancels = new Map<string, { readonly action: ActionId; readonly controller: AbortController }>();

  constructor(options: TaskQueueOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#controller = new Controller({
      reconcile: (name, signal) => this.#reconcile(name, signal),
      // `recheckAll` follows once the Lease is free.
      isExpected: (thrown) => thrown instanceof LeaseHeld,
      failure: {
        message: "Rufio task status update failed, retrying",
        field: "task",
        warnsOncePer: "object",
      },
      concurrency: MAX_CONCURRENT,
      clock,
      log,
    });
    this.held = new HeldQueue({
      agentId: RUFIO_AGENT_ID,
      idle: "no Rufio Task is pending",
      actionOf: ({ id, key }) => this.#actionOf(id, key),
      onReturn: ({ key }) => this.#controller.add(nameOfKey(key)),
      clock,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal);
  }

  /** Returns a signal that aborts when the action's Task or Job is deleted; undefined for actions that are not from Rufio. */
  cancelOf(action: ActionId): AbortSignal | undefined {
    if (action.agentId !== RUFIO_AGENT_ID) return undefined;
    const known = this.#cancels.get(action.actionId);
    if (known) return known.controller.signal;
    const controller = new AbortController();
    if (this.isGone(action)) controller.abort(deleted(action));
    else this.#cancels.set(action.actionId, { action, controller });
    return controller.signal;
  }

  /** Whether the action's Task or Job is deleted; false while that is unknown. */
  isGone(action: ActionId): boolean {
    const { objects } = this.#options;
    if (!objects.isSynced) return false;
    const task = objects.tasks.get(taskNameOfAction(action));
    if (task?.uid !== action.actionId) return true;
    return !task.finished && this.#isOrphan(task);
  }

  /** Whether the action may still start. Check again once the action has its locks, which may take hours. */
  mayStart(action: ActionId): boolean {
    const task = this.#options.objects.tasks.get(taskNameOfAction(action));
    return task?.uid === action.actionId && !task.finished && this.#decide(task).kind === "do";
  }

  markEnded(uid: string): void {
    this.#ended.add(uid);
    this.held.remove(uid);
  }

  recheckAll(): void {
    for (const task of this.#options.objects.tasks.values())
      if (!task.finished) this.#controller.add(task.name);
    this.#cancelGone([...this.#cancels.values()].map(({ action }) => action));
  }

  taskChanged(change: Change<RufioTask>): void {
    const { before } = change;
    const after = change.kind === "set" ? change.value : undefined;
    this.#ofJob.change(change);
    if (before && before.uid !== after?.uid) this.#forget(before);
    if (!after) return;
    if (after.finished) this.#forget(after);
    else {
      this.#controller.add(change.name);
      if (after.deleted) this.#cancelGone(this.#actionsOf(after.uid));
    }
  }

  jobChanged({ before, ...change }: Change<RufioJob>): void {
    const after = change.kind === "set" ? change.value : undefined;
    for (const uid of new Set([before?.uid, after?.uid])) {
      for (const name of uid === undefined ? [] : this.#ofJob.find(uid)) {
        this.#controller.add(name);
        const task = this.#options.objects.tasks.get(name);
        if (task) this.#cancelGone(this.#actionsOf(task.uid));
      }
    }
  }

  /** Rechecks the Tasks that wait for a Machine. */
  machineChanged(): void {
    if (this.#unmatched.size === 0) return;
    for (const task of this.#options.objects.tasks.values()) {
      if (!task.finished && this.#unmatched.has(task.uid)) this.#controller.add(task.name);
    }
  }

  /** Queues or drops one Task, or fails it if it can never succeed. */
  async #reconcile(name: ObjectName, signal: AbortSignal): Promise<number | undefined> {
    const { objects, clock, log } = this.#options;
    const task = objects.tasks.get(name);
    if (!objects.isSynced || !task || task.finished) return undefined;
    const { uid } = task;
    const decision = this.#decide(task);
    if (decision.kind === "do") this.#unmatched.delete(uid);
    else {
      this.held.remove(uid);
      this.#secretless.delete(uid);
    }
    switch (decision.kind) {
      case "do":
        if (this.held.has(uid) || this.#ended.has(uid)) return undefined;
        if (await this.#awaitsSecret(task, decision.machine, signal))
          return secretRetryMs(this.#secretless.size);
        this.held.add({ id: uid, key: keyOf(name) });
        return undefined;
      case "leave":
        return undefined;
      case "wait": {
        const sinceMs = this.#unmatched.get(uid) ?? clock.monotonicMs();
        if (!this.#unmatched.has(uid)) {
          log.info({ task: keyOf(name), reason: decision.reason }, "Rufio task waiting for its machine");
        }
        this.#unmatched.set(uid, sinceMs);
        return sinceMs + MACHINE_WITHIN_MS - clock.monotonicMs();
      }
      case "fail":
        await this.#fail(task, decision.reason, signal);
        return undefined;
      default:
        return decision satisfies never;
    }
  }

  /**
   * Whether the Task waits for a Secret, which is requested again, like in Rufio. A Task that has started does not wait, because
   * the executor decides its outcome.
   */
  async #awaitsSecret(task: OpenTask, machine: ObjectName, signal: AbortSignal): Promise<boolean> {
    const { machineName, missingSecret, log } = this.#options;
    if (task.startTime !== undefined) return false;
    const reason = await missingSecret(machineName(machine), signal);
    if (reason === undefined) {
      this.#secretless.delete(task.uid);
      return false;
    }
    if (this.#secretless.get(task.uid) !== reason) {
      log.warn({ task: keyOf(task.name), reason }, "Rufio task waiting for its Secret");
    }
    this.#secretless.set(task.uid, reason);
    return true;
  }

  #decide(task: OpenTask): Decision {
    const { api, clock, objects, lease, owns, references } = this.#options;
    if (!lease.isFree || task.deleted || this.#isOrphan(task)) return { kind: "leave" };
    const job = objects.jobOfTask(task);
    if (job?.finished) return { kind: "leave" };
    const machine = job ? objects.machineOf(job) : objects.machineWith(task);
    if (!owns(shareKey(machine ?? task.name))) return { kind: "leave" };
    const to = machine && { kind: api.machine.kind, ...machine };
    const refused = to && references({ from: api.referrerOf(task), to });
    // If the Task has started, the executor decides its outcome.
    if (refused !== undefined && task.startTime === undefined) return { kind: "fail", reason: refused };
    if (task.problem !== undefined) return { kind: "fail", reason: task.problem };
    const read = api.readTask(task.action);
    if (!read.ok) return { kind: "fail", reason: read.reason };
    if (machine) return { kind: "do", machine };
    const reason = api.texts.noMachine(task.name.namespace);
    const waitsMs = clock.monotonicMs() - (this.#unmatched.get(task.uid) ?? clock.monotonicMs());
    return { kind: waitsMs >= MACHINE_WITHIN_MS ? "fail" : "wait", reason };
  }

  /**
   * Whether the Task's Job is gone or being deleted. Tinkerbell's own API server has no garbage collector, so the Tasks of a
   * deleted Job remain.
   */
  #isOrphan(task: OpenTask): boolean {
    if (task.deleted) return true;
    return task.owner !== undefined && (this.#options.objects.jobOfTask(task)?.deleted ?? true);
  }

  async #fail(task: OpenTask, reason: string, signal: AbortSignal) {
    const { api, cluster, lease, clock, log } = this.#options;
    await lease.confirmFree(signal);
    const nowMs = clock.now();
    const change = { kind: "failed", startedMs: nowMs, nowMs, message: oneLine(reason) } as const;
    const patched = await patchTask({ api, cluster }, task, task, () => change, signal);
    if (patched === "written") log.warn({ task: keyOf(task.name), reason }, "Rufio task rejected");
  }

  #actionOf(uid: string, key: string): Action | undefined {
    const { api, objects, machineName, image, version } = this.#options;
    const task = objects.tasks.get(nameOfKey(key));
    if (task === undefined || task.finished || task.uid !== uid) return undefined;
    const decision = this.#decide(task);
    const read = api.readTask(task.action);
    if (!read.ok || decision.kind !== "do") return undefined;
    return actionOf(read, {
      workflowId: keyOf({ ...task.name, ...(task.owner && { name: task.owner.name }) }),
      task: { name: task.name.name, uid },
      machine: machineName(decision.machine),
      image,
      version,
    });
  }

  #forget({ uid }: RufioTask): void {
    this.held.remove(uid);
    this.#ended.delete(uid);
    this.#unmatched.delete(uid);
    this.#secretless.delete(uid);
    this.#cancelGone(this.#actionsOf(uid));
    this.#cancels.delete(uid);
  }

  #actionsOf(uid: string): readonly ActionId[] {
    const cancel = this.#cancels.get(uid);
    return cancel ? [cancel.action] : [];
  }

  #cancelGone(actions: readonly ActionId[]): void {
    for (const action of actions) {
      if (this.isGone(action)) this.#cancels.get(action.actionId)?.controller.abort(deleted(action));
    }
  }
}

export function taskNameOfAction({ workflowId, taskId }: ActionId): ObjectName {
  return { namespace: nameOfKey(workflowId).namespace, name: taskId };
}

function deleted({ workflowId, taskId }: ActionId): Error {
  return new Error(`the Task ${taskId} of ${workflowId} was deleted`);
}
