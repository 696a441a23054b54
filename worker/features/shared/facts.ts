import type { BmcAddress, MachineOrigin, Pause } from "../../core/action/machine-facts.ts";
import type { LeaderFacts } from "../../kubernetes/leader/leader-election.ts";
import type { AgentIdCase } from "../../machines/agent-id.ts";
import type { Labels } from "../../machines/labels.ts";
import type { DriftSeen } from "./drift-seen.ts";
import type { NamedHealthFinding } from "./health-finding.ts";

/** What is known of a worker now, for pages, metrics and health. */
export interface WorkerFacts {
  /** The inventory's, in its order. */
  machines(): readonly string[];
  /** What the inventory says of a machine, if it has one of that name. */
  bmcAddress?(machine: string): BmcAddress | undefined;
  /** Absent if all machines are of the inventory file. */
  machineOrigin?(machine: string): MachineOrigin | undefined;
  /** Why a machine is out of service. */
  machinePause?(machine: string): Pause | undefined;
  /** A machine's labels in the inventory. */
  machineLabels?(machine: string): Labels | undefined;
  agentIds(): readonly string[];
  /** A machine's last comparison with its desired state. Absent if the worker does not compare. */
  machineDrift?(machine: string): DriftSeen | undefined;
  /** How many machines have known hardware. Absent if the worker does not read it. */
  hardwareKnown?(): number;
  slots(): { readonly limit: number; readonly taken: number };
  /** How many actions have an outcome that the server may not know yet. */
  unfinished(): number;
  /**
   * Whether a connection to the tink server is open. Its answers prove less, because it holds polls. Absent for a worker
   * without tink server.
   */
  connected?: () => boolean;
  /** `Runtime.check`. */
  checkRuntime(signal: AbortSignal): Promise<string>;
  /** Absent without health checks. */
  health?(facts: WorkerFacts): Promise<readonly NamedHealthFinding[]>;
  /** Absent if the worker uses no cluster, apart from running actions there. */
  cluster?(): ClusterFacts;
}

export interface ClusterFacts {
  /** Why watches of the worker's own cluster fail, one line each. */
  readonly problems: readonly string[];
  /** Clusters that machines are read from. */
  readonly sources: readonly MachineSourceFacts[];
  /** Invalid Machine and Hardware objects. */
  readonly unusableMachines: number;
  /** Absent without leader election. */
  readonly leader?: LeaderFacts;
  /** Agent IDs that a Workflow names in another case, as far as it is known. */
  agentIdsInOtherCase?(): readonly AgentIdCase[];
}

export interface MachineSourceFacts {
  readonly name: string;
  readonly machines: number;
  /** Why its machines may be outdated, one line each. */
  readonly problems: readonly string[];
}
