import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { type Change, WatchedObjects } from "../../kubernetes/client/watched-objects.ts";
import {
  jobOf,
  machineOf,
  type OpenTask,
  type RufioJob,
  type RufioMachine,
  type RufioTask,
  taskOf,
} from "./rufio-kinds.ts";

export interface RufioObjectsOptions {
  readonly cluster: Pick<Cluster, "list" | "watch">;
  readonly namespace: string | undefined;
  readonly onJob: (change: Change<RufioJob>) => void;
  readonly onTask: (change: Change<RufioTask>) => void;
  readonly onMachine: (change: Change<RufioMachine>) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export class RufioObjects {
  readonly jobs: WatchedObjects<RufioJob>;
  readonly tasks: WatchedObjects<RufioTask>;
  readonly machines: WatchedObjects<RufioMachine>;
  /** Machines, by namespace and connection. */
  readonly #byConnection = new Map<string, Set<string>>();

  constructor({ cluster, namespace, onJob, onTask, onMachine, clock, log }: RufioObjectsOptions) {
    const common = { cluster, selection: { namespace }, clock, log };
    this.jobs = new WatchedObjects({ ...common, kind: KINDS.rufioJob, project: jobOf, onChange: onJob });
    this.tasks = new WatchedObjects({ ...common, kind: KINDS.rufioTask, project: taskOf, onChange: onTask });
    this.machines = new WatchedObjects({
      ...common,
      kind: KINDS.rufioMachine,
      project: machineOf,
      onChange: (change) => {
        this.#index(change);
        onMachine(change);
      },
    });
  }

  /** Before that, a missing object may just not have been listed yet. */
  get isSynced(): boolean {
    return this.jobs.isSynced && this.tasks.isSynced && this.machines.isSynced;
  }

  /** Resolves when all objects are listed, or `run` has ended. */
  async synced(): Promise<void> {
    const all = [this.jobs.synced, this.tasks.synced, this.machines.synced];
    await Promise.all(all).catch(() => undefined);
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.jobs.run(signal), this.tasks.run(signal), this.machines.run(signal)]);
  }

  /** The Job of a Task; undefined if it has none or the Job is gone. */
  jobOfTask({ name, owner }: Pick<OpenTask, "name" | "owner">): RufioJob | undefined {
    if (!owner) return undefined;
    const job = this.jobs.get({ namespace: name.namespace, name: owner.name });
    return job?.uid === owner.uid ? job : undefined;
  }

  /**
   * The Machine of a Task without a Job: the first one in its namespace with the same connection, because nothing else
   * in the Task identifies one.
   */
  machineWith({ name, connection }: Pick<OpenTask, "name" | "connection">): ObjectName | undefined {
    const names = this.#byConnection.get(`${name.namespace}/${connection}`) ?? [];
    const [first] = [...names].toSorted();
    return first === undefined ? undefined : { namespace: name.namespace, name: first };
  }

  #index(change: Change<RufioMachine>): void {
    const { name, namespace } = change.name;
    if (change.before) {
      const key = `${namespace}/${change.before.connection}`;
      const names = this.#byConnection.get(key);
      names?.delete(name);
      if (names?.size === 0) this.#byConnection.delete(key);
    }
    if (change.kind === "gone") return;
    const key = `${namespace}/${change.value.connection}`;
    const names = this.#byConnection.get(key) ?? new Set();
    this.#byConnection.set(key, names.add(name));
  }
}

/** The key by which a shard has a Machine. */
export function shareKey(machine: ObjectName): string {
  return `rufio/${keyOf(machine)}`;
}
