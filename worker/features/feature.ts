import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import type { ConfigPart } from "../config/part.ts";
import type { WatchedFile } from "../config/reload.ts";
import type { Action } from "../core/action/action.ts";
import type { JournalEntry } from "../core/action/entry.ts";
import type { HardwareOfMachines } from "../core/action/hardware-seen.ts";
import type { SeenAction } from "../core/action/observer.ts";
import type { StateDirectory } from "../core/journal/state-directory.ts";
import type { LaneChanges } from "../core/lanes/worker.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import type { Deletions, Source, Waking } from "../core/ports/source.ts";
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
 * An entry of the table in `main/features.ts`. Its module loads the feature's code only when the feature is opened. `Config` is
 * the part of the configuration that it reads: the table makes the compiler check that this part exists.
 */
export interface FeatureDefinition<Config extends SharedConfig = SharedConfig> {
  readonly name: string;
  readonly settings?: ConfigPart<never>;
  readonly isUsed: (config: Config) => boolean;
  /** The rights that it needs in the Kubernetes API, in named parts; none if the settings do not use it. */
  readonly rights?: (config: Config) => readonly NamedRights[];
  /** Why the worker must not start, in one line; undefined if it may, or if the cluster does not answer. */
  readonly refusal?: (config: Config, cluster: Cluster) => Promise<string | undefined>;
  /** For `pbnj-worker doctor`. Rejects with a `KubernetesError`, and with the signal's reason. */
  readonly check?: (config: Config, terms: CheckTerms, signal: AbortSignal) => Promise<readonly Finding[]>;
  /** Opens nothing that can fail: `serve` and `open` do. */
  readonly open: (services: FeatureServices<Config>) => Promise<readonly FeaturePart[]>;
}

/** The part of the configuration that every feature may read, besides its own. */
export interface SharedConfig extends MachineUse {
  /** The agent IDs at start: the fixed ones and one per machine. */
  readonly agentIds: readonly string[];
  /** Agent IDs in addition to those of the machines. */
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
  /** The worker's own cluster; undefined for checks of other clusters, which do not depend on it. */
  readonly cluster: Cluster | undefined;
  /** Time limit for each cluster. */
  readonly timeoutMs: number;
}

/** What a feature adds to a worker: parts of these kinds. */
export type FeaturePart =
  | MachinesPart
  | SourcePart
  | ServerPart
  | RuntimePart
  | ObserverPart
  | FactsPart
  | RoutesPart
  | FilesPart
  | TaskPart
  | RecorderPart
  | OffersPart;

/** Machines besides those of the inventory file. */
interface MachinesPart {
  readonly kind: "machines";
  readonly inventory: Inventory;
}

/** A source of actions inside the worker, with an agent ID of its own. */
interface SourcePart {
  readonly kind: "source";
  readonly agentId: string;
  readonly source: Source;
}

/** What a feature knows of the tink server. */
interface ServerPart {
  readonly kind: "server";
  /** An API besides the current one. */
  readonly api?: ServerApi;
  /** Knows when the server may have actions. */
  readonly waking?: Waking;
  /** Sees when its workflows are deleted. */
  readonly deletions?: Deletions;
}

interface RuntimePart {
  readonly kind: "runtime";
  /** Takes some actions from another runtime. */
  readonly wrap?: (base: Runtime) => Runtime;
  /** Variables that pass the trace to an action. */
  readonly environmentOf?: (action: SeenAction) => Readonly<Record<string, string>>;
}

interface ObserverPart {
  readonly kind: "observer";
  readonly observer: WorkerObserver;
}

/** Facts for pages, metrics and health. */
interface FactsPart {
  readonly kind: "facts";
  readonly worker?: Partial<WorkerFacts>;
  readonly cluster?: () => Partial<ClusterFacts>;
}

interface RoutesPart {
  readonly kind: "routes";
  readonly routes: (facts: WorkerFacts) => readonly Route[];
}

/** Files that are reloaded when they change. */
interface FilesPart {
  readonly kind: "files";
  readonly files: readonly WatchedFile[];
}

/** Works while the worker leads. */
interface TaskPart {
  readonly kind: "task";
  /** Opens the servers of a worker that leads. Rejects with one line. */
  readonly open?: () => Promise<void>;
  /** Resolves when the lanes may start. Never rejects. */
  readonly ready?: (stop: AbortSignal) => Promise<void>;
  /** Runs beside the lanes until the signal aborts. Never rejects. */
  readonly run: (stop: AbortSignal, updateLanes: UpdateLanes) => Promise<void>;
  /** Called after the last lane. Never rejects. */
  readonly close?: () => Promise<void>;
}

/** Starts and ends lanes after machines have changed. */
export type UpdateLanes = () => LaneChanges;

/** Works in every worker, also in one that waits until it leads. */
interface RecorderPart {
  readonly kind: "recorder";
  /** Rejects with one line. */
  readonly serve?: () => Promise<void>;
  /** The last step: writes what is still buffered, for a few seconds at most. Never rejects. */
  readonly flush: (how: FlushTerms) => Promise<void>;
}

export interface FlushTerms {
  /** The state directory is lost: nothing may be written to it. */
  readonly stateLost: boolean;
}

/** Services for features that are opened later. */
interface OffersPart {
  readonly kind: "offers";
  readonly offers: Offers;
}

/** Services that features offer each other. Absent without the feature that offers them. */
export interface Offers {
  /** Whether a Workflow with a task for an agent ID has not ended, as far as the worker knows. */
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
export interface FeatureServices<Config extends SharedConfig = SharedConfig> {
  readonly config: Config;
  readonly process: ProcessServices;
  readonly machines: MachineServices;
  readonly rules: RuleServices;
  readonly control: ControlServices;
  /** Offers of features that were opened earlier. */
  readonly offers: Offers;
  readonly clock: Clock;
  readonly log: Logger;
}

interface ProcessServices {
  readonly env: Environment;
  readonly own: SelfProgram;
  readonly state: StateDirectory;
}

interface MachineServices {
  /** All machines, as far as the features before have added them. */
  readonly inventory: CombinedInventory;
  /** Reads machines for the worker itself. */
  readonly reader: MachineReader;
}

interface RuleServices {
  /** The policy as its file was loaded last. */
  readonly policy: () => Policy;
  /** What the policy says of references between objects. */
  readonly references: ReferenceRefusal;
  /** Why the policy forbids an action at a machine of this name; undefined if it allows it. */
  readonly refusal: (action: Action, machine: string) => string | undefined;
}

interface ControlServices {
  readonly journal: EntryFinder;
  /** Everything that observes the worker. */
  readonly observer: WorkerObservers;
  /** Whether this worker certainly leads at this moment. */
  readonly isLeading: () => boolean;
  /** Set if the settings use one. */
  readonly cluster: Cluster | undefined;
}

interface EntryFinder {
  find(key: string): JournalEntry | undefined;
}
