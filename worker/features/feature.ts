import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import type { ConfigPart } from "../config/part.ts";
import type { WatchedFile } from "../config/reload.ts";
import type { Action } from "../core/action/action.ts";
import type { HardwareOfMachines } from "../core/action/hardware-seen.ts";
import type { SeenAction } from "../core/action/observer.ts";
import type { ActionJournal } from "../core/journal/journal.ts";
import type { StateDirectory } from "../core/journal/state-directory.ts";
import type { LaneChanges } from "../core/lanes/worker.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import type { Deletions, Source, Waking } from "../core/ports/source.ts";
import type { Locks } from "../core/turns/turns.ts";
import type { Finding } from "../findings/finding.ts";
import type { Cluster } from "../kubernetes/client/cluster.ts";
import type { ClusterConfig } from "../kubernetes/client/cluster-settings.ts";
import type { NeededRight } from "../kubernetes/client/needed-right.ts";
import type { Route } from "../listener/http/route.ts";
import type { MachineUse } from "../machines/agent-id.ts";
import type { CombinedInventory } from "../machines/combined-inventory.ts";
import type { Inventory } from "../machines/inventory.ts";
import type { Policy } from "../policy/policy.ts";
import type { ReferenceRefusal } from "../policy/reference.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import type { ServerApi } from "../sources/server/tink-server.ts";
import type { MachineReader } from "./machine-reader.ts";
import type { ClusterFacts, WorkerFacts } from "./shared/facts.ts";
import type { MachineNotice } from "./shared/machine-notice.ts";
import type { WorkerObserver, WorkerObservers } from "./shared/observer.ts";

/**
 * A feature as the table in `main/features.ts` has it. Its module loads the feature's code only when it is opened. `Config` is what
 * it reads of the configuration: the compiler checks in the table that there is such a part.
 */
export interface FeatureDefinition<Config extends SharedConfig = SharedConfig> {
  readonly name: string;
  readonly settings?: ConfigPart<never>;
  readonly isUsed: (config: Config) => boolean;
  /** What it needs of the Kubernetes API, in parts with names for people; nothing where the settings do not use it. */
  readonly rights?: (config: Config) => readonly NamedRights[];
  /** Why the worker must not start, in one line; undefined if it may, or if the cluster does not answer. */
  readonly refusal?: (config: Config, cluster: Cluster) => Promise<string | undefined>;
  /** For `pbnj-worker doctor`. Rejects with a `KubernetesError`, and with the signal's reason. */
  readonly check?: (config: Config, terms: CheckTerms, signal: AbortSignal) => Promise<readonly Finding[]>;
  /** Opens nothing that can fail: `serve` and `open` do. */
  readonly open: (worker: WorkerParts<Config>) => Promise<Feature>;
}

/** What every feature may read of the configuration, besides what its own settings become. */
export interface SharedConfig extends MachineUse {
  /** At start: the fixed ones and one per machine. */
  readonly agentIds: readonly string[];
  /** In addition to those of the machines. */
  readonly fixedAgentIds: readonly string[];
  readonly server?: { readonly pollTimeoutMs: number };
  readonly backoffMaxIntervalMs: number;
  readonly runtime: { readonly kind: "docker" | "in-process" | "kubernetes" | "process" };
  readonly stopGraceMs: number;
  readonly kubernetes?: ClusterConfig;
  readonly http?: object;
}

export interface NamedRights {
  readonly name: string;
  readonly rights: readonly NeededRight[];
}

interface CheckTerms {
  /** The worker's own cluster; undefined for what is checked elsewhere, whether or not this one answers. */
  readonly cluster: Cluster | undefined;
  /** Of each cluster. */
  readonly timeoutMs: number;
}

/** What a feature adds to a worker. All members are optional. */
export interface Feature {
  /** An API of tink servers besides the current one. */
  readonly serverApi?: ServerApi;
  /** Machines besides those of the inventory file. */
  readonly machines?: Inventory;
  /** Actions of its own. */
  readonly source?: OwnSource;
  /** Knows when the tink server may have actions. */
  readonly waking?: Waking;
  readonly observer?: WorkerObserver;
  /** What it knows, for pages, metrics and health. */
  readonly facts?: Partial<WorkerFacts>;
  /** Its HTTP routes. */
  routes?(facts: WorkerFacts): readonly Route[];
  /** Reloaded when they change. */
  readonly watchedFiles?: readonly WatchedFile[];
  /** For features that are opened later. */
  readonly offers?: Offers;
  /** A runtime that takes some actions from another one. */
  runtime?(base: Runtime): Runtime;
  /** Variables that join an action to its trace. */
  traceEnvironment?(action: SeenAction): Readonly<Record<string, string>>;
  /** Sees when workflows of the tink server are deleted. */
  readonly deletions?: Deletions;
  clusterFacts?(): Partial<ClusterFacts>;
  /** Opens what every worker serves, also one that waits until it leads. Rejects with one line. */
  serve?(facts: WorkerFacts): Promise<void>;
  /** Opens what only a worker that leads serves. Rejects with one line. */
  open?(): Promise<void>;
  /** Runs beside the lanes until the signal aborts. Never rejects. */
  run?(stop: AbortSignal): Promise<void>;
  /** Resolves when the lanes may start. Never rejects. */
  ready?(stop: AbortSignal): Promise<void>;
  /** After the last lane. Never rejects. */
  close?(): Promise<void>;
  /** The last step: writes what is still buffered, for a few seconds at most. Never rejects. */
  flush?(how: FlushTerms): Promise<void>;
}

export interface FlushTerms {
  /** The state directory is lost: nothing may be written to it. */
  readonly stateLost: boolean;
}

/** A source of actions inside the worker, with an agent ID of its own. */
interface OwnSource {
  readonly agentId: string;
  readonly source: Source;
}

/** What features use of each other. Absent without the feature that has it. */
export interface Offers {
  /** Whether a Workflow with a task for an agent ID has not ended, as far as it is known. */
  readonly hasWorkflow?: (agentId: string) => boolean;
  readonly machineObjects?: MachineObjects;
  readonly hardware?: HardwareOfMachines;
}

/** The objects of machines in the worker's own cluster. */
interface MachineObjects {
  /** Undefined for a machine without object. */
  namespaceOf(machine: string): string | undefined;
  /** Writes an event on the machine's object, if it has one. */
  notify(notice: MachineNotice): void;
}

/** What a feature gets of the worker. */
export interface WorkerParts<Config extends SharedConfig = SharedConfig> {
  readonly config: Config;
  readonly env: Environment;
  readonly own: SelfProgram;
  readonly state: StateDirectory;
  /** From `open` on. */
  readonly journal: () => Pick<ActionJournal, "find">;
  /** As its file was loaded last. */
  readonly policy: () => Policy;
  /** All machines, as far as the features before have added them. */
  readonly inventory: CombinedInventory;
  readonly locks: Locks;
  /** Reads machines for the worker itself. */
  readonly reader: MachineReader;
  /** Set if the settings use one. */
  readonly cluster: Cluster | undefined;
  /** Certainly, at this moment. */
  readonly isLeading: () => boolean;
  /** What the policy says of references between objects. */
  readonly references: ReferenceRefusal;
  /** Why the policy forbids an action at a machine of this name; undefined if it allows it. */
  readonly refusal: (action: Action, machine: string) => string | undefined;
  /** Of the features before. */
  readonly offers: Offers;
  /** Everything that observes the worker. */
  readonly observer: WorkerObservers;
  /** Starts and ends lanes after machines have changed; undefined while there are no lanes. */
  readonly updateLanes: () => LaneChanges | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}
