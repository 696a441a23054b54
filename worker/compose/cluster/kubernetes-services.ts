import { defined } from "../../../shared/defined.ts";
import { version } from "../../../shared/version.ts";
import type { ActionId } from "../../action/action.ts";
import type { MachineNotice } from "../../action/machine-notice.ts";
import type { ClusterFacts, Observer } from "../../action/observer.ts";
import type { Waking } from "../../action/waking.ts";
import type { Cluster } from "../../cluster/client/cluster.ts";
import type { ObjectName } from "../../cluster/client/kinds.ts";
import { ObjectEvents, type ObjectReference } from "../../cluster/events/object-events.ts";
import { LeaderLocks } from "../../cluster/leader/leader-locks.ts";
import { WakeUp } from "../../cluster/wake-up/wake-up.ts";
import type { KubernetesConfig } from "../../config/worker-config.ts";
import { MachineReader } from "../../hardware/machine-reader.ts";
import type { LaneControl } from "../../lanes/worker.ts";
import { inOtherCase } from "../../machines/agent-id.ts";
import { ClusterInventory, type MachineChanges } from "../../machines/cluster/cluster-inventory.ts";
import { CombinedInventory } from "../../machines/combined-inventory.ts";
import type { Inventory } from "../../machines/inventory.ts";
import type { HardwareSource } from "../../source/rufio/hardware-writer.ts";
import { openRufio, type Rufio } from "../../source/rufio/rufio.ts";
import type { ActionSource, StatusSink } from "../../source/source.ts";
import { type Locks, MachineLocks } from "../../turns/turns.ts";
import { laneFields, machineFields } from "../change-fields.ts";
import { allAgentIds, type ClusterServices, hasMachine, type ServiceOptions } from "../cluster-services.ts";
import { leadersTransport } from "./leaders-transport.ts";
import { machineSources } from "./machine-sources.ts";

export interface KubernetesServicesOptions extends ServiceOptions {
  readonly cluster: Cluster;
  readonly kubernetes: KubernetesConfig;
}

/** How long a starting worker waits for its machines, and for the list of Workflows. */
const READY_MS = 30_000;
const WAKE_READY_MS = 5_000;
const LOOK_MS = 20;

/** Everything that a worker uses of a cluster, apart from running actions there. */
export class KubernetesServices implements ClusterServices {
  readonly inventory: Inventory;
  readonly locks: Locks;
  readonly #options: KubernetesServicesOptions;
  readonly #machines: ClusterInventory | undefined;
  readonly #wakeUp: WakeUp | undefined;
  readonly #transport: ActionSource & StatusSink;
  readonly #leaderLocks: LeaderLocks | undefined;
  readonly #reader: MachineReader | undefined;
  readonly #rufio: Rufio | undefined;
  readonly #events: ObjectEvents | undefined;
  /** From `run` on. */
  #lanes: LaneControl | undefined;

  constructor(options: KubernetesServicesOptions) {
    const { authGate, clock, cluster, config, file, kubernetes, library, log } = options;
    const { leadership, references, refusal, secretCommands, transport } = options;
    const isLeading = () => leadership?.isLeading ?? true;
    this.#options = options;
    // Both often restart together.
    cluster.onWatchOpened(() => transport.probeNow?.());
    const watchNamespace = kubernetes.watchNamespace ?? cluster.namespace;
    const allNamespaces = watchNamespace === "*";
    const machineName = ({ namespace, name }: ObjectName) => (allNamespaces ? `${name}.${namespace}` : name);

    const sources = machineSources(kubernetes, { cluster, clock, log });
    if (sources.length > 0) {
      this.#machines = new ClusterInventory({
        sources,
        managedHosts: kubernetes.managedHosts ?? "refuse",
        references,
        clock,
        log,
        onChange: (changes) => this.#clusterMachinesChanged(changes),
      });
    }
    this.inventory = this.#machines ? new CombinedInventory(file, this.#machines, log) : file;

    if (this.#machines && config.drift) {
      this.#events = new ObjectEvents({ cluster, clock, log });
    }

    if (kubernetes.wakeUp && config.server) {
      const namespace = allNamespaces ? undefined : watchNamespace;
      this.#wakeUp = new WakeUp({ cluster, namespace, clock, log });
    }

    this.#leaderLocks = leadership && new LeaderLocks({ cluster, clock, log });
    this.locks = this.#leaderLocks ?? new MachineLocks();
    this.#transport = leadership ? leadersTransport(transport, isLeading) : transport;

    if (kubernetes.rufio) {
      const { inventory, locks } = this;
      const reader = new MachineReader({ inventory, actions: library, locks, authGate, secretCommands });
      this.#reader = reader;
      this.#rufio = openRufio({
        cluster,
        config: kubernetes.rufio,
        watchNamespace,
        version,
        clock,
        log,
        machineName,
        references,
        refusal,
        missingSecret: async (name, signal) => {
          const machine = inventory.find(name);
          return machine && inventory.missingSecret?.(machine, signal);
        },
        owns: (key) => isLeading() && hasMachine(config, machineName(machineOf(key))),
        ...(kubernetes.rufio.hardware && { hardware: this.#hardwareSource() }),
        readPower: (machine, signal) => reader.readPower(machine, signal),
      });
    }
  }

  #hardwareSource(): HardwareSource {
    const { hardware } = this.#options;
    return {
      find: (name) => {
        const machine = this.inventory.find(name);
        return machine && hardware()?.find(machine);
      },
      refresh: (name) => hardware()?.refresh(name),
      onRead: (listener) => hardware()?.onRead(listener),
    };
  }

  get observer(): Partial<Observer> {
    return this.#rufio?.observer ?? {};
  }

  agentIds(): readonly string[] {
    return [...allAgentIds(this.#options.config, this.inventory), ...(this.#rufio?.agentIds ?? [])];
  }

  sourceOf(agentId: string): ActionSource {
    return this.#rufioOf(agentId)?.source ?? this.#transport;
  }

  sinkOf({ agentId }: Pick<ActionId, "agentId">): StatusSink {
    return this.#rufioOf(agentId)?.sink ?? this.#transport;
  }

  wakingOf(agentId: string): Waking | undefined {
    const rufio = this.#rufioOf(agentId);
    if (rufio) return rufio.waking;
    // Only a poll starts a workflow by a rule.
    return this.#options.config.agentAttributes ? undefined : this.#wakeUp;
  }

  cancelOf(action: ActionId): AbortSignal | undefined {
    return this.#rufio?.cancelOf(action) ?? this.#wakeUp?.cancelOf(action);
  }

  seesDeletion(action: ActionId): boolean {
    return this.#wakeUp?.seesDeletion(action) ?? false;
  }

  facts(): ClusterFacts {
    const machines = this.#machines?.state();
    const sources = machines?.sources ?? [];
    const own = sources.filter(({ isOwn }) => isOwn);
    const watches = Object.entries(this.#rufio?.state().watches ?? {});
    return {
      problems: [
        ...own.flatMap(({ problems }) => problems),
        ...watches.flatMap(([resource, state]) =>
          state.kind === "failing" ? [`Rufio's ${resource}: ${state.error.message}`] : [],
        ),
      ],
      sources: sources.map(({ name, machines: count, problems }) => ({ name, machines: count, problems })),
      unusableMachines: machines?.unusable.length ?? 0,
      ...defined({ leader: this.#options.leadership?.state() }),
      agentIdsInOtherCase: () =>
        inOtherCase(this.#wakeUp?.named() ?? [], allAgentIds(this.#options.config, this.inventory)),
    };
  }

  hasWorkflow(agentId: string): boolean {
    return this.#wakeUp?.hasOpen(agentId) ?? false;
  }

  machineNamespace(machine: string): string | undefined {
    return this.#objectOf(machine)?.namespace;
  }

  notify({ machine, ...about }: MachineNotice): void {
    const object = this.#objectOf(machine);
    if (object) this.#events?.add({ object, ...about });
  }

  /** A machine of the inventory file has no object, even if the cluster has one of its name. */
  #objectOf(machine: string): ObjectReference | undefined {
    return this.#options.file.find(machine) ? undefined : this.#machines?.objectOf(machine);
  }

  async run(lanes: LaneControl, stop: AbortSignal): Promise<void> {
    this.#lanes = lanes;
    const parts = [this.#machines, this.#wakeUp, this.#rufio, this.#events];
    await Promise.all(parts.map((part) => part?.run(stop)));
  }

  async ready(stop: AbortSignal): Promise<void> {
    const took = this.#leaderLocks?.takeOver(stop);
    await Promise.all([took, this.#inventoryReady(stop), this.#wakeUpReady(stop)]);
  }

  async close(): Promise<void> {
    await this.#reader?.close();
    await this.#machines?.close();
  }

  #clusterMachinesChanged(changes: MachineChanges): void {
    const lanes = this.#lanes?.setAgentIds(this.agentIds());
    const fields = { ...machineFields(changes), ...(lanes && laneFields(lanes)) };
    this.#options.log.info(fields, "cluster machines updated");
  }

  #rufioOf(agentId: string): Rufio | undefined {
    return this.#rufio?.agentIds.includes(agentId) ? this.#rufio : undefined;
  }

  async #inventoryReady(stop: AbortSignal): Promise<void> {
    const bound = AbortSignal.any([stop, AbortSignal.timeout(READY_MS)]);
    const synced = await this.#machines?.synced(bound);
    if (synced?.ok === false && !stop.aborted) {
      this.#options.log.warn({ reason: synced.reason }, "cluster machines not loaded yet");
    }
  }

  async #wakeUpReady(stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + WAKE_READY_MS;
    while (this.#wakeUp?.isStarting && !stop.aborted && clock.monotonicMs() < endMs) {
      await clock.sleep(LOOK_MS, stop).catch(() => undefined);
    }
  }
}

/** The Machine of a key `rufio/<namespace>/<name>`. */
function machineOf(key: string): ObjectName {
  const [, namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}
