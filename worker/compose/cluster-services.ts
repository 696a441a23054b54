import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Action, ActionId } from "../action/action.ts";
import type { MachineNotice } from "../action/machine-notice.ts";
import type { ClusterFacts, LeaderFacts, Observer } from "../action/observer.ts";
import type { ReferenceRefusal } from "../action/reference.ts";
import type { ExecutionConfig, RuntimeConfig, WorkerConfig } from "../config/worker-config.ts";
import type { HardwareStore } from "../hardware/hardware-store.ts";
import type { StateDirectory } from "../journal/state-directory.ts";
import type { Leadership } from "../lanes/leadership.ts";
import type { LaneServices } from "../lanes/worker.ts";
import { agentIdOf, agentIdsOf } from "../machines/agent-id.ts";
import type { AuthGate } from "../machines/auth-gate.ts";
import type { Inventory } from "../machines/inventory.ts";
import type { SecretCommands } from "../machines/secret-commands.ts";
import { isInShard } from "../machines/shard.ts";
import type { ActionLibrary } from "../runtime/action-library.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { StatusSink, Transport } from "../source/source.ts";
import { type Locks, MachineLocks } from "../turns/turns.ts";

/** A cluster that the settings use. What implements this is in `cluster/`; nothing else of Kubernetes is needed here. */
export interface OpenedCluster {
  /** Why the worker must not start with these settings; undefined if it may, or if the cluster does not answer. */
  refusal(): Promise<string | undefined>;
  runtime(options: ClusterRuntimeOptions): Runtime;
  /** Actions of BareMetalHosts run inside the worker, if the settings allow them, and all others with `base`. */
  withHosts(base: Runtime, options: HostOptions): Runtime;
  /** Undefined without leader election. */
  leadership(clock: Clock, log: Logger): (Leadership & { state(): LeaderFacts }) | undefined;
  /** For `pbnj-worker start`. */
  services(options: ServiceOptions): ClusterServices;
  /** For `pbnj-worker run`: the machines of the inventory file and of the cluster. */
  inventory(config: ExecutionConfig, log: Logger, stop: AbortSignal): Promise<Inventory>;
  close(): Promise<void>;
}

interface ClusterRuntimeOptions {
  readonly config: ExecutionConfig;
  readonly pods: RuntimeConfig & { readonly kind: "kubernetes" };
  readonly state: StateDirectory | undefined;
  readonly isLeading: (() => boolean) | undefined;
  readonly library: ActionLibrary;
  readonly log: Logger;
}

interface HostOptions extends Pick<ClusterRuntimeOptions, "config" | "library" | "log"> {
  readonly state?: StateDirectory;
  readonly inventory: Inventory;
}

export interface ServiceOptions {
  readonly config: WorkerConfig;
  /** The machines of the inventory file. */
  readonly file: Inventory;
  readonly transport: Transport;
  readonly state: StateDirectory;
  readonly library: ActionLibrary;
  readonly authGate: AuthGate;
  readonly secretCommands: SecretCommands;
  /** What the policy says of references between objects. */
  readonly references: ReferenceRefusal;
  /** Why the policy forbids an action at a machine of this name; undefined if it allows it. */
  readonly refusal: (action: Action, machine: string) => string | undefined;
  readonly leadership: (Leadership & { state(): LeaderFacts }) | undefined;
  /** From `run` on; undefined if the settings do not use it. */
  readonly hardware: () => HardwareStore | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What a worker gets from a cluster, if it uses one: machines, locks, lanes, and sources of actions. */
export interface ClusterServices extends LaneServices {
  readonly inventory: Inventory;
  readonly locks: Locks;
  readonly observer: Partial<Observer>;
  sinkOf(action: Pick<ActionId, "agentId">): StatusSink;
  /** As `ExecutorOptions.cancelOf`. */
  cancelOf(action: ActionId): AbortSignal | undefined;
  /** As `WorkflowCheckOptions.seesDeletion`. */
  seesDeletion?(action: ActionId): boolean;
  facts?(): ClusterFacts;
  /** Whether a workflow that names the agent ID has not ended, as far as it is known. */
  hasWorkflow?(agentId: string): boolean;
  /** Of the machine's object, if the worker's own cluster has one. */
  machineNamespace?(machine: string): string | undefined;
  /** Writes an event on the machine's object, if it has one. */
  notify?(notice: MachineNotice): void;
}

export type MachineUse = Pick<WorkerConfig, "agentIdPattern" | "shard">;

/** Every agent ID of the machines in an inventory, and the fixed ones, in this shard; none without a tink server. */
export function allAgentIds(
  { server, fixedAgentIds, agentIdPattern, shard }: WorkerConfig,
  inventory: Inventory,
) {
  if (!server) return [];
  return agentIdsOf(fixedAgentIds, agentIdPattern, inventory.machines(), shard);
}

/** Whether this worker's shard has a machine: another one uses the BMCs of all others. */
export function hasMachine({ agentIdPattern, shard }: MachineUse, machine: string): boolean {
  return shard === undefined || isInShard(agentIdOf(agentIdPattern, machine), shard);
}

/** Everything from the inventory file and the tink server. */
export function withoutCluster({ config, file, transport }: ServiceOptions): ClusterServices {
  return {
    inventory: file,
    locks: new MachineLocks(),
    observer: {},
    agentIds: () => allAgentIds(config, file),
    sourceOf: () => transport,
    sinkOf: () => transport,
    wakingOf: () => undefined,
    cancelOf: () => undefined,
    run: async () => undefined,
    ready: async () => undefined,
    close: async () => undefined,
  };
}
