import type { Clock } from "../../../shared/clock.ts";
import type { PowerState } from "../../../shared/contract/vocabulary.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Action } from "../../core/action/action.ts";
import type { HardwareOfMachines } from "../../core/action/hardware-seen.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { Source } from "../../core/ports/source.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import type { ObjectName } from "../../kubernetes/client/kinds.ts";
import type { WatchState } from "../../kubernetes/client/watched-objects.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { heldSource } from "../../sources/held-queue.ts";
import { RUFIO_AGENT_ID } from "../shared/source-agent-ids.ts";
import { HardwareWriter } from "./hardware-writer.ts";
import { JobController } from "./job-controller.ts";
import { MachinePoller } from "./machine-poller.ts";
import type { RufioController } from "./rufio-controller.ts";
import { RufioLease } from "./rufio-lease.ts";
import { RufioObjects } from "./rufio-objects.ts";
import type { RufioConfig } from "./rufio-settings.ts";
import type { MissingSecret } from "./secret-retry.ts";
import { TaskStatusSink } from "./status-sink.ts";
import { TaskQueue } from "./task-queue.ts";
import { v1alpha1 } from "./v1alpha1.ts";
import { v1alpha2 } from "./v1alpha2.ts";

export interface RufioOptions {
  readonly cluster: Cluster;
  readonly config: RufioConfig;
  /** The namespace to watch; `*` means all. */
  readonly watchNamespace: string;
  readonly version: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Whether this worker leads and its shard contains a Machine, whose key is `rufio/<namespace>/<Machine>`. */
  readonly owns: (key: string) => boolean;
  /** Returns the name of a Machine in the inventory. */
  readonly machineName: (machine: ObjectName) => string;
  /**
   * Reads the power state under the machine's lock, with its own timeout and respecting refused passwords
   * (`AuthGate`). Rejects with a `BmcError`, or with the signal's reason if that aborts while waiting for the lock.
   */
  readonly getPower: (machineName: string, signal: AbortSignal) => Promise<PowerState>;
  /** Decides whether a Job may name its Machine. */
  readonly references: ReferenceRefusal;
  /** Returns why the policy forbids an action on a machine of the inventory; undefined if the policy allows it. */
  readonly refusal: (action: Action, machineName: string) => string | undefined;
  readonly missingSecret: MissingSecret;
  /** Whether the runtime finds actions that an earlier worker launched, even if that worker's state directory is lost. */
  readonly findsEarlierRuns: boolean;
  /** Absent if the status of Hardware is not written. */
  readonly hardware?: HardwareOfMachines | undefined;
  /** The most power states to read at a time. */
  readonly maxReads?: number;
  readonly random?: () => number;
}

export interface Rufio {
  /** One lane, which serves all Jobs concurrently. */
  readonly agentId: string;
  readonly source: Source;
  readonly observer: Observer;
  /** Runs until the signal aborts. Never rejects. Reports of running actions are still written afterwards. */
  run(signal: AbortSignal): Promise<void>;
  state(): RufioState;
}

interface RufioState {
  /** Whether Rufio's Lease is free; false while that is unknown. */
  readonly leaseFree: boolean;
  readonly synced: boolean;
  /** The state of each watch, by resource. */
  readonly watches: Readonly<Record<string, WatchState>>;
}

/** The default number of concurrent reads. */
const MAX_READS = 20;

/** Creates the controllers for Rufio's objects. Sends no request before `run`. */
export function openRufio(options: RufioOptions): Rufio {
  const { cluster, config, watchNamespace, log, clock, owns, machineName, version } = options;
  const namespace = watchNamespace === "*" ? undefined : watchNamespace;
  const api = config.api === "v1alpha2" ? v1alpha2 : v1alpha1;
  const objects: RufioObjects = new RufioObjects({
    api,
    cluster,
    namespace,
    clock,
    log,
    controllers: () => controllers,
  });
  function recheckAll(): void {
    if (!objects.isSynced) return;
    for (const controller of controllers) controller.recheckAll();
  }
  const lease = new RufioLease({
    cluster,
    clock,
    log,
    namespace: config.leaseNamespace ?? cluster.namespace,
    alone: config.alone,
    onChange: recheckAll,
  });
  const { references, missingSecret } = options;
  const common = { api, cluster, objects, lease, owns, machineName, clock, log };
  // In v1alpha2, Rufio is known to write the status of Jobs only.
  const hasMachines = api.version === "v1alpha1";
  const actions = { references, image: config.image, version };
  const hardware = options.hardware && new HardwareWriter({ ...common, namespace, source: options.hardware });
  const jobs = new JobController({ ...common, ...actions, namespace, refusal: options.refusal });
  const queue = new TaskQueue({ ...common, ...actions, missingSecret });
  const machines = hasMachines
    ? new MachinePoller({
        ...common,
        references,
        missingSecret,
        getPower: options.getPower,
        intervalMs: config.statusIntervalMs,
        maxReads: options.maxReads ?? MAX_READS,
        random: options.random ?? Math.random,
      })
    : undefined;
  const controllers: readonly RufioController[] = [jobs, queue, machines, hardware].filter(
    (controller) => controller !== undefined,
  );
  const sink = new TaskStatusSink({
    api,
    cluster,
    objects,
    lease,
    queue,
    log,
    findsEarlierRuns: options.findsEarlierRuns,
  });
  return {
    agentId: RUFIO_AGENT_ID,
    source: heldSource(queue.held, sink, (action) => queue.cancelOf(action)),
    observer: {
      action(event) {
        sink.observer.action?.(event);
        machines?.observer.action?.(event);
      },
    },
    async run(signal) {
      const parts = [lease, objects, ...controllers].map((part) => part.run(signal));
      await objects.synced();
      recheckAll();
      await Promise.all(parts);
    },
    state: () => ({
      leaseFree: lease.isFree,
      synced: objects.isSynced,
      watches: objects.states,
    }),
  };
}
