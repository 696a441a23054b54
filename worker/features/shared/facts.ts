import type { BmcAddress, MachineOrigin, Pause } from "../../core/action/machine-facts.ts";
import type { Labels } from "../../document/labels.ts";
import type { WorkflowProblem } from "../../explain/workflow-review.ts";
import type { LeaderFacts } from "../../kubernetes/leader/leader-election.ts";
import type { AgentIdCase } from "../../machines/agent-id.ts";
import type { DriftSeen } from "./drift-seen.ts";

/** The names of the checks in health answers. */
export const healthCheckNames = [
  "lanes",
  "tink_server",
  "runtime",
  "state_directory",
  "cluster",
  "leader_election",
] as const;
type HealthCheckName = (typeof healthCheckNames)[number];

export interface HealthFinding {
  readonly ok: boolean;
  /** One line, without secrets. */
  readonly reason: string;
}

export interface NamedHealthFinding extends HealthFinding {
  readonly name: HealthCheckName;
}

/** Facts about a worker for pages, metrics and health. */
export interface WorkerFacts {
  /** Names of the inventory's machines, in its order. */
  machines(): readonly string[];
  /** The BMC's address of a machine in the inventory; undefined for unknown names. */
  bmcAddress?(machine: string): BmcAddress | undefined;
  /** The origin of a machine; absent if all machines are in the inventory file. */
  machineOrigin?(machine: string): MachineOrigin | undefined;
  /** The reason why a machine is out of service. */
  machinePause?(machine: string): Pause | undefined;
  /** A machine's labels in the inventory. */
  machineLabels?(machine: string): Labels | undefined;
  agentIds(): readonly string[];
  /** The last comparison of a machine with its desired state; absent if the worker does not compare. */
  machineDrift?(machine: string): DriftSeen | undefined;
  /** The number of machines with known hardware; absent if the worker does not read it. */
  hardwareKnown?(): number;
  /** How many actions wait for a limit of the inventory. */
  limited?(): number;
  slots(): { readonly limit: number; readonly taken: number };
  /** The number of actions whose outcome the server may not know yet. */
  unfinished(): number;
  /**
   * Whether a connection to the tink server is open; absent without a tink server. A connection proves more than answers,
   * because the server holds polls.
   */
  connected?: () => boolean;
  /** Workflows that cannot succeed, or whose reports changed nothing; absent if the worker does not watch Workflows. */
  workflowProblems?(): readonly WorkflowProblem[];
  /** Runs `Runtime.check`. */
  checkRuntime(signal: AbortSignal): Promise<string>;
  /** Absent without health checks. */
  health?(facts: WorkerFacts): Promise<readonly NamedHealthFinding[]>;
  /** Facts about the cluster; absent if the worker uses none except for running actions. */
  cluster?(): ClusterFacts;
}

export interface ClusterFacts {
  /** Why watches of the worker's own cluster fail, one line each. */
  readonly problems: readonly string[];
  /** Clusters that machines are read from. */
  readonly sources: readonly MachineSourceFacts[];
  /** The number of invalid Machine and Hardware objects. */
  readonly unusableMachines: number;
  /** Absent without leader election. */
  readonly leader?: LeaderFacts;
  /** Known agent IDs that a Workflow names in another case. */
  agentIdsInOtherCase?(): readonly AgentIdCase[];
}

export interface MachineSourceFacts {
  readonly name: string;
  readonly machines: number;
  /** Why the machines may be outdated, one line each. */
  readonly problems: readonly string[];
}

/** A notice for the owners of a machine, written as an event on its object. */
export interface MachineNotice {
  readonly machine: string;
  readonly type: "Normal" | "Warning";
  /** One word in upper camel case. */
  readonly reason: string;
  /** One line. */
  readonly message: string;
}
