import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import type { Progress } from "../../../shared/contract/progress.ts";
import {
  type ActionId,
  type ActionState,
  type ActionStatus,
  actionKey,
  type Delivery,
  type LogLine,
  type Outcome,
} from "./action.ts";
import type { DriftSeen } from "./drift-seen.ts";
import type { NamedHealthFinding } from "./health-finding.ts";
import type { BmcAddress, MachineOrigin, Pause } from "./machine-facts.ts";

/**
 * `waiting` for a workflow that is addressed to it, `polling` the server, `busy` with an action, or `failing` because the
 * server does not answer.
 */
export type LaneState = "waiting" | "polling" | "busy" | "failing";

interface PollSeen {
  readonly agentId: string;
  /** `OK` for an answer, with or without an action; otherwise gRPC's name of the error, such as `Unavailable`. */
  readonly code: string;
  readonly kind: "action" | "idle" | "failed";
  readonly durationMs: number;
}

export interface ReportSeen {
  readonly action: ActionId;
  readonly state: ActionState;
  /** `OK`, or gRPC's name of the error. */
  readonly code: string;
  readonly durationMs: number;
}

/** What observers may see of an action: neither environment nor arguments, which may contain secrets. */
export interface SeenAction extends ActionId {
  /** `actionKey`. */
  readonly key: string;
  readonly image: string;
}

export function seenAction(action: Omit<SeenAction, "key">): SeenAction {
  const { workflowId, taskId, agentId, actionId, name, image } = action;
  return { key: actionKey(action), workflowId, taskId, agentId, actionId, name, image };
}

/** The events of an action, in order. Times are the wall clock's. */
export type ActionEvent = {
  readonly action: SeenAction;
} /** It may run, and waits for its turn at the machine and for a slot. */ & (
  | { readonly kind: "taken"; readonly machine?: string; readonly at: Date }
  /** Policy, inventory or template deny it; `ended` follows. */
  | { readonly kind: "refused"; readonly reason: string; readonly at: Date }
  /** The server has its start; or an earlier worker started it, and this one adopts it. */
  | {
      readonly kind: "started";
      readonly machine?: string;
      readonly runtime: string;
      readonly startedAt: Date;
      readonly timeoutMs: number;
      readonly adopted: boolean;
    }
  /** A line of its own log, redacted. */
  | { readonly kind: "line"; readonly line: LogLine; readonly at: Date }
  /** What it does now, or the runtime for it; undefined if that is unknown. `at` is when it began. */
  | { readonly kind: "progress"; readonly progress: Progress | undefined; readonly at: Date }
  /** The report is still to be sent. */
  | {
      readonly kind: "ended";
      readonly machine?: string;
      readonly runtime: string;
      readonly outcome: Outcome;
    }
  /** The final report was acknowledged, dropped, or postponed because the worker stops. After a rejection, another one follows. */
  | {
      readonly kind: "reported";
      readonly delivery: Delivery;
      readonly status?: Pick<ActionStatus, "state" | "message" | "startedAt">;
      readonly at: Date;
    }
  /** It was not run, or its adoption failed: the server serves it again. */
  | { readonly kind: "returned"; readonly at: Date }
);

export interface SpansSeen {
  readonly action: SeenAction;
  /** One line of OTLP as JSON, redacted. */
  readonly text: string;
}

export interface JournalSeen {
  readonly step: "write" | "remove";
  readonly ok: boolean;
  readonly durationMs: number;
}

/** The files that are reloaded when they change, as log and metrics name them. */
export const watchedFileNames = [
  "inventory",
  "policy",
  "http-token-file",
  "http-cert-file",
  "http-key-file",
  "http-client-ca-file",
  "pbnj-cert-file",
  "pbnj-key-file",
  "pbnj-client-ca-file",
  "pbnj-jwt-secret-file",
  "pbnj-jwt-key-file",
] as const;
export type WatchedFileName = (typeof watchedFileNames)[number];

export interface FileSeen {
  readonly name: WatchedFileName;
  /** False if the last valid one stays in use. */
  readonly taken: boolean;
}

/** A call of PBnJ's API, apart from health and reflection. */
export interface ApiCallSeen {
  /** `OK`, or gRPC's name of the error. */
  readonly code: string;
}

/** A read of a machine's hardware by the worker itself. */
interface HardwareReadSeen {
  /** Why it failed. */
  readonly class?: ErrorClass;
}

/**
 * Gets the events of a worker in order: metrics, status page, action logs, traces. The worker never waits for it, so it does
 * slow work in the background.
 */
export interface Observer {
  /** Undefined when the lane has ended. */
  lane(agentId: string, state: LaneState | undefined): void;
  /** A poll is sent; `poll` follows. */
  polling(agentId: string): void;
  poll(poll: PollSeen): void;
  action(event: ActionEvent): void;
  report(report: ReportSeen): void;
  spans(spans: SpansSeen): void;
  journal(step: JournalSeen): void;
  file(file: FileSeen): void;
  apiCall(call: ApiCallSeen): void;
  hardwareRead(read: HardwareReadSeen): void;
  /** A machine was compared with its desired state, or is corrected, or not any more: see `WorkerFacts.machineDrift`. */
  compared(machine: string): void;
}

export interface WorkerFacts {
  /** The inventory's, in its order. */
  machines(): readonly string[];
  /** What the inventory says of a machine, if it has one of that name. */
  bmcAddress?(machine: string): BmcAddress | undefined;
  /** Absent if all machines are of the inventory file. */
  machineOrigin?(machine: string): MachineOrigin | undefined;
  /** Why a machine is out of service. */
  machinePause?(machine: string): Pause | undefined;
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

/** An agent ID as a Workflow names it, and as the worker has it. */
export interface AgentIdCase {
  readonly named: string;
  readonly polled: string;
}

export interface LeaderFacts {
  readonly lease: string;
  /** Certainly now; otherwise it does nothing. */
  readonly isLeading: boolean;
  /** As far as it knows. */
  readonly leader: string | undefined;
  /** Why the Lease cannot be read or renewed, in one line. */
  readonly problem: string | undefined;
}

export const noObserver: Observer = observers([], () => undefined);

/** Combines observers. If one throws, `onFailure` is called; the others and the worker continue. */
export function observers(all: readonly Partial<Observer>[], onFailure: (thrown: unknown) => void): Observer {
  function tellAll(tell: (one: Partial<Observer>) => void): void {
    for (const one of all) {
      try {
        tell(one);
      } catch (thrown) {
        onFailure(thrown);
      }
    }
  }
  return {
    lane: (agentId, state) => tellAll((one) => one.lane?.(agentId, state)),
    polling: (agentId) => tellAll((one) => one.polling?.(agentId)),
    poll: (poll) => tellAll((one) => one.poll?.(poll)),
    action: (event) => tellAll((one) => one.action?.(event)),
    report: (report) => tellAll((one) => one.report?.(report)),
    spans: (spans) => tellAll((one) => one.spans?.(spans)),
    journal: (step) => tellAll((one) => one.journal?.(step)),
    file: (file) => tellAll((one) => one.file?.(file)),
    apiCall: (call) => tellAll((one) => one.apiCall?.(call)),
    hardwareRead: (read) => tellAll((one) => one.hardwareRead?.(read)),
    compared: (machine) => tellAll((one) => one.compared?.(machine)),
  };
}
