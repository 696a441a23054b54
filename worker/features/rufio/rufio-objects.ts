import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { type Change, WatchedObjects, type WatchState } from "../../kubernetes/client/watched-objects.ts";
import { ObjectIndex } from "../../kubernetes/controller/object-index.ts";
import { JobTasks, taskChanges } from "./job-tasks.ts";
import type { OpenJob, OpenTask, RufioApi, RufioJob, RufioMachine, RufioTask } from "./rufio-api.ts";
import type { RufioController } from "./rufio-controller.ts";
import { UNREADABLE_CONNECTION } from "./rufio-kinds.ts";

export interface RufioObjectsOptions {
  readonly api: RufioApi;
  readonly cluster: Pick<Cluster, "list" | "watch">;
  readonly namespace: string | undefined;
  /** Get each change, in this order. */
  readonly controllers: () => readonly RufioController[];
  readonly clock: Clock;
  readonly log: Logger;
}

type Watch = Pick<WatchedObjects<unknown>, "isSynced" | "synced" | "state" | "run">;

export class RufioObjects {
  readonly jobs: WatchedObjects<RufioJob>;
  readonly tasks: Pick<WatchedObjects<RufioTask>, "get" | "values">;
  /** Objects that Jobs refer to. */
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
      ...{ ...common, kind: api.job, project: api.jobOf },
      onChange(change) {
        for (const controller of controllers()) controller.jobChanged?.(change);
        for (const task of taskChanges(change)) onTask(task);
      },
    });
    const tasks =
      api.taskObjects &&
      new WatchedObjects({
        ...{ ...common, kind: api.taskObjects.kind, project: api.taskObjects.taskOf },
        onChange: onTask,
      });
    this.tasks = tasks ?? new JobTasks(this.jobs);
    this.machines = new WatchedObjects({
      ...{ ...common, kind: api.machine, project: api.machineOf },
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

  /** Whether all objects are listed: before that, a missing object may exist. */
  get isSynced(): boolean {
    return this.#watches.every(([, { isSynced }]) => isSynced);
  }

  /** By resource. */
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

  /** The machine that a Job is for; undefined if no object in its namespace has the Job's connection. */
  machineOf({
    name,
    machine,
    connection,
  }: Pick<OpenJob, "name" | "machine" | "connection">): ObjectName | undefined {
    return machine ?? (connection === undefined ? undefined : this.machineWith({ name, connection }));
  }

  /** The Job of a Task; undefined if it has none or the Job is gone. */
  jobOfTask({ name, owner }: Pick<OpenTask, "name" | "owner">): RufioJob | undefined {
    if (!owner) return undefined;
    const job = this.jobs.get({ namespace: name.namespace, name: owner.name });
    return job?.uid === owner.uid ? job : undefined;
  }

  /**
   * The Machine of a Job or Task that has only a connection: the first one in its namespace with the same connection, because
   * nothing else identifies one.
   */
  machineWith({ name, connection }: Pick<OpenTask, "name" | "connection">): ObjectName | undefined {
    return this.#byConnection.find(`${name.namespace}/${connection}`)[0];
  }
}

/** The key that assigns a Machine to a shard. */
export function shareKey(machine: ObjectName): string {
  return `rufio/${keyOf(machine)}`;
}
