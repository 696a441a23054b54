import type { Clock } from "../shared/clock.ts";
import type { PowerState } from "../shared/contract/vocabulary.ts";
import type { Logger } from "../shared/logger.ts";
import { version } from "../shared/version.ts";
import type { KubernetesConfig } from "./config/worker-config.ts";
import { agentIdOf } from "./inventory/agent-id.ts";
import { ClusterInventory, type MachineChanges } from "./inventory/kubernetes/cluster-inventory.ts";
import type { Cluster } from "./kubernetes/cluster.ts";
import type { ObjectName } from "./kubernetes/kinds.ts";
import { openRufio, type Rufio } from "./rufio/rufio.ts";
import { LaneShares } from "./sharing/lane-shares.ts";
import { WakeUp } from "./wake-up/wake-up.ts";

export interface ClusterSideOptions {
  readonly cluster: Cluster;
  readonly config: KubernetesConfig;
  readonly agentIdPattern: string;
  /** This replica's name, the same after a restart and no other's. */
  readonly member: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** All agent IDs of this worker and its other replicas. */
  readonly agentIds: () => readonly string[];
  readonly onMachines: (changes: MachineChanges) => void;
  /** As `LaneSharesOptions.onOwned`. */
  readonly onOwned: () => Promise<void>;
  readonly readPower: (machine: string, signal: AbortSignal) => Promise<PowerState>;
}

/** How long a worker that starts waits for what its lanes begin with: the machines, and which Workflows there are. */
const READY_MS = 30_000;
const WAKE_READY_MS = 5_000;
const LOOK_MS = 20;

/** What of a cluster a standing worker uses, beside running actions there. */
export class ClusterSide {
  readonly cluster: Cluster;
  readonly inventory: ClusterInventory | undefined;
  readonly wakeUp: WakeUp | undefined;
  readonly rufio: Rufio | undefined;
  readonly shares: LaneShares | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(options: ClusterSideOptions) {
    const { cluster, config, agentIdPattern, clock, log, agentIds, onMachines, onOwned } = options;
    const { inventory: sources, wakeUp, rufio, sharing } = config;
    this.cluster = cluster;
    this.#clock = clock;
    this.#log = log;
    const watchNamespace = config.watchNamespace ?? cluster.namespace;
    const allNamespaces = watchNamespace === "*";
    const machineName = ({ namespace, name }: ObjectName) => (allNamespaces ? `${name}.${namespace}` : name);
    if (sources.length > 0) {
      this.inventory = new ClusterInventory({
        ...{ cluster, sources, watchNamespace, clock, log },
        onChange: onMachines,
      });
    }
    if (wakeUp) {
      this.wakeUp = new WakeUp({
        ...{ cluster, clock, log },
        namespace: allNamespaces ? undefined : watchNamespace,
      });
    }
    if (sharing) {
      this.shares = new LaneShares({
        ...{ cluster, clock, log, agentIds },
        group: sharing.group,
        member: options.member,
        onOwned: async () => {
          await onOwned();
          this.rufio?.ownershipChanged();
        },
      });
    }
    if (rufio) {
      this.rufio = openRufio({
        ...{ cluster, config: rufio, watchNamespace, version, clock, log, machineName },
        // Whoever has a Machine's lane has Rufio's work at it.
        owns: (key) => this.owns(agentIdOf(agentIdPattern, machineName(machineOf(key)))),
        readPower: options.readPower,
      });
    }
  }

  owns(agentId: string): boolean {
    return this.shares?.owns(agentId) ?? true;
  }

  /** What goes on beside the lanes. */
  get companions(): readonly ((stop: AbortSignal) => Promise<void>)[] {
    const { inventory, wakeUp, rufio, shares } = this;
    return [inventory, wakeUp, rufio, shares].flatMap((part) =>
      part ? [(stop: AbortSignal) => part.run(stop)] : [],
    );
  }

  /** Resolves when the lanes know what they begin with, or are not to wait for it any longer. Never rejects. */
  async ready(stop: AbortSignal): Promise<void> {
    await Promise.all([this.#inventoryReady(stop), this.#wakeUpReady(stop)]);
  }

  async #inventoryReady(stop: AbortSignal): Promise<void> {
    const bound = AbortSignal.any([stop, AbortSignal.timeout(READY_MS)]);
    const synced = await this.inventory?.synced(bound);
    if (synced?.ok === false && !stop.aborted) {
      this.#log.warn({ reason: synced.reason }, "machines of the cluster not known yet, the worker goes on");
    }
  }

  async #wakeUpReady(stop: AbortSignal): Promise<void> {
    const overMs = this.#clock.monotonicMs() + WAKE_READY_MS;
    while (this.wakeUp?.isStarting && !stop.aborted && this.#clock.monotonicMs() < overMs) {
      await this.#clock.sleep(LOOK_MS, stop).catch(() => undefined);
    }
  }
}

/** Of `rufio/<namespace>/<name>`. */
function machineOf(key: string): ObjectName {
  const [, namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}
