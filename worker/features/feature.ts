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
import type { WorkflowReview } from "../explain/workflow-review.ts";
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
import type { ClusterFacts, MachineNotice, WorkerFacts } from "./shared/facts.ts";
import type { WorkerObserver, WorkerObservers } from "./shared/observer.ts";

/**
 * An entry of the table in `main/features.ts`. Its module loads the feature's code only when the feature is opened. `Config`
 * is the part of the configuration that the feature reads; the compiler checks in the table that this part exists.
 */
export interface FeatureDefinition<Config extends SharedConfig = SharedConfig> {
  readonly name: string;
  readonly settings?: ConfigPart<never>;
  readonly isUsed: (config: Config) => boolean;
  /** The permissions that the feature needs in the Kubernetes API, in named parts; none if the settings do not use the API. */
  readonly rights?: (config: Config) => readonly NamedRights[];
  /** One line that says why the worker must not start; undefined if it may, or if the cluster does not answer. */
  readonly refusal?: (config: Config, cluster: Cluster) => Promise<string | undefined>;
  /** Runs the feature's check of `pbnj-worker doctor`. Rejects with a `KubernetesError`, and with the signal's reason. */
  readonly check?: (config: Config, terms: CheckTerms, signal: AbortSignal) => Promise<readonly Finding[]>;
  /** Creates the feature's parts. Nothing that can fail is opened here: `serve` and `open` do that. */
  readonly open: (services: FeatureServices<Config>) => Promise<readonly FeaturePart[]>;
}

/** The part of the configuration that every feature may read in addition to its own. */
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
  /** The worker's own cluster; undefined for checks of other clusters, which do not need it. */
  readonly cluster: Cluster | undefined;
  /** Time limit for each cluster. */
  readonly timeoutMs: number;
}

/** The parts that a feature can add to a worker. */
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

/** A source of actions inside the worker, with its own agent ID. */
interface SourcePart {
  readonly kind: "source";
  readonly agentId: string;
  readonly source: Source;
}

/** What a feature knows about the tink server. */
interface ServerPart {
  readonly kind: "server";
  /** An API of the tink server in addition to the current one. */
  readonly api?: ServerApi;
  /** Knows when the server may have actions. */
  readonly waking?: Waking;
  /** Knows when workflows of the tink server are deleted. */
  readonly deletions?: Deletions;
}

interface RuntimePart {
  readonly kind: "runtime";
  /** Wraps the runtime to run some actions itself. */
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

/** Background work while the worker leads. */
interface TaskPart {
  readonly kind: "task";
  /** Opens the feature's servers once the worker leads. Rejects with one line. */
  readonly open?: () => Promise<void>;
  /** Resolves when the lanes may start. Never rejects. */
  readonly ready?: (stop: AbortSignal) => Promise<void>;
  /** Runs beside the lanes until the signal aborts. Never rejects. */
  readonly run: (stop: AbortSignal, updateLanes: UpdateLanes) => Promise<void>;
  /** Called after the last lane has ended. Never rejects. */
  readonly close?: () => Promise<void>;
}

/** Starts and ends lanes after machines have changed. */
export type UpdateLanes = () => LaneChanges;

/** Work of every worker, including one that waits until it leads. */
interface RecorderPart {
  readonly kind: "recorder";
  /** Opens the feature's servers. Rejects with one line. */
  readonly serve?: () => Promise<void>;
  /** The last step: writes buffered data, for a few seconds at most. Never rejects. */
  readonly flush: (how: FlushTerms) => Promise<void>;
}

export interface FlushTerms {
  /** Whether the state directory is lost, so that nothing may be written to it. */
  readonly stateLost: boolean;
}

/** Services for features that are opened later. */
interface OffersPart {
  readonly kind: "offers";
  readonly offers: Offers;
}

/** Services that features offer each other. A service is absent if its feature is. */
export interface Offers {
  /** Whether a Workflow with a task for an agent ID is unfinished, as far as the worker knows. */
  readonly hasWorkflow?: (agentId: string) => boolean;
  readonly machineObjects?: MachineObjects;
  readonly hardware?: HardwareOfMachines;
}

/** The objects of machines in the worker's own cluster. */
interface MachineObjects {
  /** The namespace of a machine's object; undefined without one. */
  namespaceOf(machine: string): string | undefined;
  /** Writes an event on the machine's object, if it has one. */
  notify(notice: MachineNotice): void;
}

/** The worker's services for a feature. */
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
  /** All machines that features opened so far have added. */
  readonly inventory: CombinedInventory;
  /** Reads machines for the worker itself. */
  readonly reader: MachineReader;
}

interface RuleServices {
  /** The policy in its latest valid version. */
  readonly policy: () => Policy;
  /** The policy's decision on references between objects. */
  readonly references: ReferenceRefusal;
  /** Why the policy denies an action at a machine of this name; undefined if it allows the action. */
  readonly refusal: (action: Action, machine: string) => string | undefined;
  /** Warns about workflows with mistakes before their first command. */
  readonly review: WorkflowReview;
}

interface ControlServices {
  readonly journal: EntryFinder;
  /** Everything that observes the worker. */
  readonly observer: WorkerObservers;
  /** Whether this worker certainly leads at this moment. */
  readonly isLeading: () => boolean;
  /** The worker's own cluster; undefined if the settings do not use it. */
  readonly cluster: Cluster | undefined;
}

interface EntryFinder {
  find(key: string): JournalEntry | undefined;
}
