import type { Clock } from "../../shared/clock.ts";
import type { PowerState } from "../../shared/contract/vocabulary.ts";
import type { Logger } from "../../shared/logger.ts";
import { version } from "../../shared/version.ts";
import type { ActionId } from "../action/action.ts";
import type { ClusterFacts, Observer } from "../action/observer.ts";
import type { Waking } from "../action/waking.ts";
import type { Cluster } from "../cluster/client/cluster.ts";
import type { ObjectName } from "../cluster/client/kinds.ts";
import { BmcLeases } from "../cluster/sharing/bmc-leases.ts";
import { LaneShares } from "../cluster/sharing/lane-shares.ts";
import { WakeUp } from "../cluster/wake-up/wake-up.ts";
import type { KubernetesConfig } from "../config/worker-config.ts";
import { agentIdOf } from "../machines/agent-id.ts";
import { ClusterInventory, type MachineChanges } from "../machines/cluster/cluster-inventory.ts";
import { CombinedInventory } from "../machines/combined-inventory.ts";
import type { Inventory } from "../machines/inventory.ts";
import { openRufio, type Rufio } from "../source/rufio/rufio.ts";
import type { ActionSource, Poll, StatusSink } from "../source/source.ts";

export interface ClusterSideOptions {
  readonly cluster: Cluster;
  readonly config: KubernetesConfig;
  /** The machines of the inventory's file. */
  readonly file: Inventory;
  /** Every agent ID that these machines and the fixed ones make, whichever replica has it. */
  readonly agentIdsOf: (inventory: Inventory) => readonly string[];
  readonly agentIdPattern: string;
  /** This replica's name, the same after a restart and no other's. */
  readonly member: string;
  readonly clock: Clock;
  readonly log: Logger;
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
  /** Those of the file and of the cluster. */
  readonly inventory: Inventory;
  /** Turns at BMCs that replicas share; absent where there are none. */
  readonly leases: BmcLeases | undefined;
  readonly #wakeUp: WakeUp | undefined;
  readonly #rufio: Rufio | undefined;
  readonly #machines: ClusterInventory | undefined;
  readonly #shares: LaneShares | undefined;
  readonly #agentIdsOf: ClusterSideOptions["agentIdsOf"];
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(options: ClusterSideOptions) {
    const { cluster, config, file, agentIdPattern, clock, log, member, onMachines } = options;
    const { inventory: sources, wakeUp, rufio, sharing } = config;
    this.#agentIdsOf = options.agentIdsOf;
    this.#clock = clock;
    this.#log = log;
    const watchNamespace = config.watchNamespace ?? cluster.namespace;
    const allNamespaces = watchNamespace === "*";
    const machineName = ({ namespace, name }: ObjectName) => (allNamespaces ? `${name}.${namespace}` : name);
    this.inventory = file;
    if (sources.length > 0) {
      this.#machines = new ClusterInventory({
        ...{ cluster, sources, watchNamespace, clock, log, onChange: onMachines },
      });
      this.inventory = new CombinedInventory({ file, cluster: this.#machines, log });
    }
    if (wakeUp) {
      const namespace = allNamespaces ? undefined : watchNamespace;
      this.#wakeUp = new WakeUp({ cluster, namespace, clock, log });
    }
    if (sharing) {
      this.#shares = new LaneShares({
        ...{ cluster, group: sharing.group, member, clock, log },
        agentIds: () => options.agentIdsOf(this.inventory),
        onOwned: async () => {
          await options.onOwned();
          this.#rufio?.ownershipChanged();
        },
      });
      this.leases = new BmcLeases({ cluster, shares: this.#shares, clock, log });
    }
    if (rufio) {
      this.#rufio = openRufio({
        ...{ cluster, config: rufio, watchNamespace, version, clock, log, machineName },
        // Whoever has a Machine's lane has Rufio's work at it.
        owns: (key) => this.#owns(agentIdOf(agentIdPattern, machineName(machineOf(key)))),
        readPower: options.readPower,
      });
    }
  }

  /** What this replica polls for: the agent IDs that it owns, and Rufio's. */
  lanes(): readonly string[] {
    const owned = this.#agentIdsOf(this.inventory).filter((agentId) => this.#owns(agentId));
    return [...owned, ...(this.#rufio?.agentIds ?? [])];
  }

  /** Where an agent ID's actions come from: Rufio's objects, or the tink server as long as the agent ID is this replica's. */
  sourceFor(agentId: string, transport: ActionSource): ActionSource {
    if (this.#rufio && this.#isRufios(agentId)) return this.#rufio.source;
    return this.#shares ? this.#guarded(transport) : transport;
  }

  /** Where the states of an action go. */
  sinkFor({ agentId }: Pick<ActionId, "agentId">, transport: StatusSink): StatusSink {
    return this.#rufio && this.#isRufios(agentId) ? this.#rufio.sink : transport;
  }

  wakingFor(agentId: string): Waking | undefined {
    return this.#rufio && this.#isRufios(agentId) ? this.#rufio.waking : this.#wakeUp;
  }

  /** As `ExecutorOptions.isOurs`. Whether one of Rufio's is, its sink says. */
  isOurs({ agentId }: Pick<ActionId, "agentId">): boolean {
    return this.#isRufios(agentId) || this.#owns(agentId);
  }

  /** As `ExecutorOptions.cancelOf`. */
  cancelOf(action: ActionId): AbortSignal | undefined {
    return this.#rufio?.cancelOf(action) ?? this.#wakeUp?.cancelOf(action);
  }

  facts(): ClusterFacts {
    const machines = this.#machines?.state();
    const sources = machines?.sources ?? [];
    const watches = Object.entries(this.#rufio?.state().watches ?? {});
    const shares = this.#shares?.state();
    return {
      problems: [
        ...sources.flatMap(({ resource, state, reason }) =>
          state === "failing" ? [`${resource}: ${reason ?? "cannot be watched"}`] : [],
        ),
        ...watches.flatMap(([resource, state]) =>
          state.kind === "failing" ? [`Rufio's ${resource}: ${state.error.message}`] : [],
        ),
      ],
      unusableMachines: machines?.unusable.length ?? 0,
      ...(shares && {
        replicas: {
          valid: shares.valid,
          members: shares.members,
          ownedShards: shares.ownedShards,
          ...(shares.problem !== undefined && { problem: shares.problem }),
        },
      }),
    };
  }

  get observer(): Partial<Observer> {
    return this.#rufio?.observer ?? {};
  }

  /** The file's machines or the cluster's have become others. */
  machinesChanged(): void {
    this.#shares?.agentIdsChanged();
  }

  /** What goes on beside the lanes. */
  get companions(): readonly ((stop: AbortSignal) => Promise<void>)[] {
    return [this.#machines, this.#wakeUp, this.#rufio, this.#shares, this.leases].flatMap((part) =>
      part ? [(stop: AbortSignal) => part.run(stop)] : [],
    );
  }

  /** Resolves when the lanes know what they begin with, or are not to wait for it any longer. Never rejects. */
  async ready(stop: AbortSignal): Promise<void> {
    await Promise.all([this.#inventoryReady(stop), this.#wakeUpReady(stop)]);
  }

  #owns(agentId: string): boolean {
    return this.#shares?.owns(agentId) ?? true;
  }

  #isRufios(agentId: string): boolean {
    return this.#rufio?.agentIds.includes(agentId) ?? false;
  }

  /** Asks for nothing, and takes nothing, that another replica may have by now: this process may have been stopped for a while. */
  #guarded(source: ActionSource): ActionSource {
    return {
      servesSeveral: () => source.servesSeveral(),
      next: async (agentId, signal, inFlight) => {
        if (!this.#owns(agentId)) return NOT_OURS;
        const poll = await source.next(agentId, signal, inFlight);
        return poll.kind === "action" && !this.#owns(agentId) ? NOT_OURS : poll;
      },
    };
  }

  async #inventoryReady(stop: AbortSignal): Promise<void> {
    const bound = AbortSignal.any([stop, AbortSignal.timeout(READY_MS)]);
    const synced = await this.#machines?.synced(bound);
    if (synced?.ok === false && !stop.aborted) {
      this.#log.warn({ reason: synced.reason }, "cluster machines not loaded yet");
    }
  }

  async #wakeUpReady(stop: AbortSignal): Promise<void> {
    const overMs = this.#clock.monotonicMs() + WAKE_READY_MS;
    while (this.#wakeUp?.isStarting && !stop.aborted && this.#clock.monotonicMs() < overMs) {
      await this.#clock.sleep(LOOK_MS, stop).catch(() => undefined);
    }
  }
}

const NOT_OURS: Poll = { kind: "idle", reason: "another replica has the agent ID" };

/** Of `rufio/<namespace>/<name>`. */
function machineOf(key: string): ObjectName {
  const [, namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}
