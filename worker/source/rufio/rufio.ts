import type { Clock } from "../../../shared/clock.ts";
import type { PowerState } from "../../../shared/contract/vocabulary.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { ActionId } from "../../action/action.ts";
import type { Observer } from "../../action/observer.ts";
import type { Waking } from "../../action/waking.ts";
import type { Cluster } from "../../cluster/client/cluster.ts";
import type { ObjectName } from "../../cluster/client/kinds.ts";
import type { WatchState } from "../../cluster/client/watched-objects.ts";
import { RUFIO_AGENT_ID } from "../../config/rufio-agent-id.ts";
import type { RufioConfig } from "../../config/worker-config.ts";
import type { ActionSource, StatusSink } from "../source.ts";
import { JobRunner } from "./job-runner.ts";
import { MachineWatch } from "./machine-watch.ts";
import { RufioLease } from "./rufio-lease.ts";
import { RufioObjects } from "./rufio-objects.ts";
import { TaskStatusSink } from "./status-sink.ts";
import { TaskQueue } from "./task-queue.ts";

export interface RufioOptions {
  readonly cluster: Cluster;
  readonly config: RufioConfig;
  /** `*` is all. */
  readonly watchNamespace: string;
  /** For the images of actions. */
  readonly version: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Whether this replica has the work at a Machine; the key is `rufio/<namespace>/<Machine>`. */
  readonly owns: (key: string) => boolean;
  /** The inventory's name of a Machine. */
  readonly machineName: (machine: ObjectName) => string;
  /**
   * Reads the power state at the machine's turn, within a time of its own, with what refused passwords ask for (`AuthGate`).
   * Rejects with a `BmcError`, and with the signal's reason when that aborts before its turn has come.
   */
  readonly readPower: (machineName: string, signal: AbortSignal) => Promise<PowerState>;
  /** At a time. */
  readonly maxReads?: number;
  readonly random?: () => number;
}

/** Rufio's work, done by this worker. */
export interface Rufio {
  /** One lane, which serves as many Jobs at a time as there are. */
  readonly agentIds: readonly string[];
  readonly source: ActionSource;
  /** Tells the lane of new Tasks at once. */
  readonly waking: Waking;
  readonly sink: StatusSink;
  readonly observer: Partial<Observer>;
  /** Aborts when the Task of an action, or its Job, is deleted; undefined for actions that are none of Rufio's. */
  cancelOf(action: ActionId): AbortSignal | undefined;
  /** Until the signal aborts. Never rejects. Reports of actions that still run go on being written after that. */
  run(signal: AbortSignal): Promise<void>;
  /** `owns` has become another. */
  ownershipChanged(): void;
  state(): RufioState;
}

export interface RufioState {
  /** False, too, as long as nobody can tell. */
  readonly leaseFree: boolean;
  /** Whether all objects have been seen. */
  readonly synced: boolean;
  readonly watches: Readonly<Record<"jobs" | "tasks" | "machines", WatchState>>;
}

/** BMCs answer slowly; so many of them are waited for at a time. */
const MOST_READS = 20;

/** Builds what does Rufio's work. Asks for nothing before `run`. */
export function openRufio(options: RufioOptions): Rufio {
  const { cluster, config, watchNamespace, log, clock, owns, machineName, version } = options;
  const namespace = watchNamespace === "*" ? undefined : watchNamespace;
  const common = { cluster, owns, clock, log };
  const objects: RufioObjects = new RufioObjects({
    ...{ cluster, namespace, clock, log },
    onJob(change) {
      jobs.jobChanged(change);
      queue.jobChanged(change);
    },
    onTask(change) {
      jobs.taskChanged(change);
      queue.taskChanged(change);
    },
    onMachine(change) {
      jobs.machineChanged(change);
      queue.machinesChanged();
      machines.machineChanged(change);
    },
  });
  function lookAtAll(): void {
    if (!objects.isSynced) return;
    jobs.lookAtAll();
    queue.lookAtAll();
    machines.lookAtAll();
  }
  const lease = new RufioLease({
    ...{ cluster, clock, log },
    namespace: config.leaseNamespace ?? cluster.namespace,
    onChange: lookAtAll,
  });
  const jobs = new JobRunner({ ...common, objects, lease, namespace });
  const queue = new TaskQueue({ ...common, objects, lease, machineName, image: config.image, version });
  const machines = new MachineWatch({
    ...{ ...common, objects, lease, machineName },
    readPower: options.readPower,
    intervalMs: config.statusIntervalMs,
    mostReads: options.maxReads ?? MOST_READS,
    random: options.random ?? Math.random,
  });
  return {
    agentIds: [RUFIO_AGENT_ID],
    source: queue,
    waking: queue,
    sink: new TaskStatusSink({ cluster, objects, lease, queue }),
    observer: machines.observer,
    cancelOf: (action) => queue.cancelOf(action),
    async run(signal) {
      const parts = [lease, objects, jobs, queue, machines].map((part) => part.run(signal));
      await objects.synced();
      lookAtAll();
      await Promise.all(parts);
    },
    ownershipChanged: lookAtAll,
    state: () => ({
      leaseFree: lease.isFree,
      synced: objects.isSynced,
      watches: {
        jobs: objects.jobs.state,
        tasks: objects.tasks.state,
        machines: objects.machines.state,
      },
    }),
  };
}
