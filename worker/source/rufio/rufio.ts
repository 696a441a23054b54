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
  /** `*` for all. */
  readonly watchNamespace: string;
  /** For the images of actions. */
  readonly version: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Whether this replica owns the work at a Machine; the key is `rufio/<namespace>/<Machine>`. */
  readonly owns: (key: string) => boolean;
  /** The inventory's name of a Machine. */
  readonly machineName: (machine: ObjectName) => string;
  /**
   * Reads the power state while it holds the machine, with a timeout of its own, and retries refused passwords rarely
   * (`AuthGate`). Rejects with a `BmcError`, and with the signal's reason when that aborts while it waits.
   */
  readonly readPower: (machineName: string, signal: AbortSignal) => Promise<PowerState>;
  /** At a time. */
  readonly maxReads?: number;
  readonly random?: () => number;
}

export interface Rufio {
  /** One lane, which runs all Jobs concurrently. */
  readonly agentIds: readonly string[];
  readonly source: ActionSource;
  /** Wakes the lane for new Tasks. */
  readonly waking: Waking;
  readonly sink: StatusSink;
  readonly observer: Partial<Observer>;
  /** A signal that aborts when the action's Task or Job is deleted; undefined for actions of other sources. */
  cancelOf(action: ActionId): AbortSignal | undefined;
  /** Runs until the signal aborts. Never rejects. Reports of running actions are still written afterwards. */
  run(signal: AbortSignal): Promise<void>;
  /** The result of `owns` has changed. */
  ownershipChanged(): void;
  state(): RufioState;
}

export interface RufioState {
  /** False, too, while it is not known. */
  readonly leaseFree: boolean;
  readonly synced: boolean;
  readonly watches: Readonly<Record<"jobs" | "tasks" | "machines", WatchState>>;
}

/** BMCs answer slowly, so that many reads run concurrently. */
const MOST_READS = 20;

/** Builds everything for Rufio's work. Sends nothing before `run`. */
export function openRufio(options: RufioOptions): Rufio {
  const { cluster, config, watchNamespace, log, clock, owns, machineName, version } = options;
  const namespace = watchNamespace === "*" ? undefined : watchNamespace;
  const common = { cluster, owns, clock, log };
  const objects: RufioObjects = new RufioObjects({
    cluster,
    namespace,
    clock,
    log,
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
  function checkAll(): void {
    if (!objects.isSynced) return;
    jobs.checkAll();
    queue.checkAll();
    machines.checkAll();
  }
  const lease = new RufioLease({
    cluster,
    clock,
    log,
    namespace: config.leaseNamespace ?? cluster.namespace,
    onChange: checkAll,
  });
  const jobs = new JobRunner({ ...common, objects, lease, namespace });
  const queue = new TaskQueue({ ...common, objects, lease, machineName, image: config.image, version });
  const machines = new MachineWatch({
    ...common,
    objects,
    lease,
    machineName,
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
      checkAll();
      await Promise.all(parts);
    },
    ownershipChanged: checkAll,
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
