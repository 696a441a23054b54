import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { type Change, WatchedObjects, type WatchState } from "../../kubernetes/client/watched-objects.ts";
import { ObjectIndex } from "../../kubernetes/controller/object-index.ts";
import { jobOfTaskName, taskNameOf } from "./job-step.ts";
import type { JobTarget, OpenTask, RufioApi, RufioJob, RufioMachine, RufioTask } from "./rufio-api.ts";
import type { RufioController } from "./rufio-controller.ts";
import { UNREADABLE_CONNECTION } from "./rufio-kinds.ts";

export interface RufioObjectsOptions {
  readonly api: RufioApi;
  readonly cluster: Cluster;
  readonly namespace: string | undefined;
  /** The controllers to call with each change, in this order. */
  readonly controllers: () => readonly RufioController[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** A watch of objects of any kind. */
interface Watch {
  readonly isSynced: boolean;
  readonly synced: Promise<void>;
  readonly state: WatchState;
  run(signal: AbortSignal): Promise<void>;
}

/** Tasks, either watched objects or parts of their Jobs. */
interface Tasks {
  get(name: ObjectName): RufioTask | undefined;
  values(): IterableIterator<RufioTask>;
}

/** The watched objects of Rufio's API. */
export class RufioObjects {
  readonly jobs: WatchedObjects<RufioJob>;
  readonly tasks: Tasks;
  /** The objects that Jobs refer to. */
  readonly machines: WatchedObjects<RufioMachine>;
  readonly #watches: readonly (readonly [string, Watch])[];
  readonly #byConnection = new ObjectIndex(({ connection }: RufioMachine, { namespace }) =>
    connection === UNREADABLE_CONNECTION ? [] : [`${namespace}/${connection}`],
  );

  constructor({ api, cluster, namespace, controllers, clock, log }: RufioObjectsOptions) {
    const common = { cluster, selection: { namespace }, clock, log };
    const onTask = (change: Change<RufioTask>) => {
      for (const controller of controllers()) controller.taskChanged?.(change);
    };
    this.jobs = new WatchedObjects({
      ...common,
      kind: api.job,
      project: api.jobOf,
      onChange(change) {
        for (const controller of controllers()) controller.jobChanged?.(change);
        for (const task of taskChanges(change)) onTask(task);
      },
    });
    const tasks =
      api.taskObjects &&
      new WatchedObjects({
        ...common,
        kind: api.taskObjects.kind,
        project: api.taskObjects.taskOf,
        onChange: onTask,
      });
    this.tasks = tasks ?? new JobTasks(this.jobs);
    this.machines = new WatchedObjects({
      ...common,
      kind: api.machine,
      project: api.machineOf,
      onChange: (change) => {
        this.#byConnection.change(change);
        for (const controller of controllers()) controller.machineChanged?.(change);
      },
    });
    this.#watches = [
      [api.job.resource, this.jobs],
      ...(tasks && api.taskObjects ? [[api.taskObjects.kind.resource, tasks] as const] : []),
      [api.machine.resource, this.machines],
    ];
  }

  /** Whether all objects are listed. Before that, an object that is not found may exist. */
  get isSynced(): boolean {
    return this.#watches.every(([, { isSynced }]) => isSynced);
  }

  /** The state of each watch, by resource. */
  get states(): Readonly<Record<string, WatchState>> {
    return Object.fromEntries(this.#watches.map(([resource, { state }]) => [resource, state]));
  }

  /** Resolves when all objects are listed, or `run` has ended. */
  async synced(): Promise<void> {
    await Promise.all(this.#watches.map(([, { synced }]) => synced)).catch(() => undefined);
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#watches.map(([, objects]) => objects.run(signal)));
  }

  /** The machine that a Job is for; undefined if no machine in its namespace has the Job's connection. */
  machineOf({ name, machine, connection }: JobTarget): ObjectName | undefined {
    return machine ?? (connection === undefined ? undefined : this.machineWith({ name, connection }));
  }

  /** The Job of a Task; undefined if it has none or the Job is gone. */
  jobOfTask({ name, owner }: OpenTask): RufioJob | undefined {
    if (!owner) return undefined;
    const job = this.jobs.get({ namespace: name.namespace, name: owner.name });
    return job?.uid === owner.uid ? job : undefined;
  }

  /**
   * The machine of a Job or Task that has only a connection: the first one in its namespace with the same connection, because
   * nothing else identifies it.
   */
  machineWith({
    name,
    connection,
  }: {
    readonly name: ObjectName;
    readonly connection: string;
  }): ObjectName | undefined {
    return this.#byConnection.find(`${name.namespace}/${connection}`)[0];
  }
}

/** Presents the Tasks in the status of v1alpha2 Jobs as if they were objects. */
class JobTasks implements Tasks {
  readonly #jobs: WatchedObjects<RufioJob>;

  constructor(jobs: WatchedObjects<RufioJob>) {
    this.#jobs = jobs;
  }

  get(name: ObjectName): RufioTask | undefined {
    const at = jobOfTaskName(name);
    return at && this.#jobs.get(at.job)?.ownTasks?.[at.index];
  }

  *values(): IterableIterator<RufioTask> {
    for (const { ownTasks = [] } of this.#jobs.values()) yield* ownTasks;
  }
}

/** Derives the changes of a Job's Tasks from a change of the Job. Skips Tasks that had already ended. */
function taskChanges({ name, before, ...change }: Change<RufioJob>): readonly Change<RufioTask>[] {
  const was = before?.ownTasks ?? [];
  const is = change.kind === "set" ? (change.value.ownTasks ?? []) : [];
  return Array.from({ length: Math.max(was.length, is.length) }).flatMap((_, index): Change<RufioTask>[] => {
    const at = taskNameOf(name, index);
    const [old, value] = [was[index], is[index]];
    if (old?.finished && value?.finished && old.uid === value.uid) return [];
    if (value) return [{ kind: "set", name: at, value, before: old }];
    return old ? [{ kind: "gone", name: at, before: old }] : [];
  });
}

/** The key that assigns a Machine to a shard. */
export function shareKey(machine: ObjectName): string {
  return `rufio/${keyOf(machine)}`;
}
