import type { ActionId, ActionState, ActionStatus, Delivery, LogLine, Outcome } from "./action.ts";
import { actionKey } from "./action-key.ts";

/**
 * `waiting` is woken up when a workflow is addressed to it, `polling` waits for the server to give something, `busy` is at an
 * action, `failing` waits because the server does not answer.
 */
export type LaneState = "waiting" | "polling" | "busy" | "failing";

/** One answer, or its absence, to the question for an action. */
export interface PollSeen {
  readonly agentId: string;
  /** `OK` when there was an answer, with or without an action; otherwise gRPC's own name, such as `Unavailable`. */
  readonly code: string;
  readonly kind: "action" | "idle" | "failed";
  readonly durationMs: number;
}

/** One attempt to report, and what came of it. */
export interface ReportSeen {
  readonly action: ActionId;
  readonly state: ActionState;
  /** `OK`, or gRPC's own name. */
  readonly code: string;
  readonly durationMs: number;
}

/** An action as the worker knows it before it asks anybody about it. */
export interface SeenAction extends ActionId {
  /** `actionKey`: the same for the same action, whenever and however often it is served. */
  readonly key: string;
  readonly image: string;
}

/** What onlookers may know of an action: nothing of its environment and arguments, which may hold anything. */
export function seenAction(action: ActionId & Pick<SeenAction, "image">): SeenAction {
  const { workflowId, taskId, agentId, actionId, name, image } = action;
  return { key: actionKey(action), workflowId, taskId, agentId, actionId, name, image };
}

/** What happens to an action, in the order in which it happens. Times are the wall clock's. */
export type ActionEvent =
  /** The server served it and it may act; it waits for its turn at the machine and for a slot. */
  | {
      readonly kind: "taken";
      readonly action: SeenAction;
      readonly machine?: string;
      readonly at: Date;
    }
  /** The policy, the inventory or the template keeps it from being run; `ended` follows. */
  | { readonly kind: "refused"; readonly action: SeenAction; readonly reason: string; readonly at: Date }
  /** Its turn has come and the server took its start; or it runs since an earlier worker started it. */
  | {
      readonly kind: "started";
      readonly action: SeenAction;
      readonly machine?: string;
      readonly runtime: string;
      readonly startedAt: Date;
      readonly timeoutMs: number;
      readonly adopted: boolean;
    }
  /** A line of its own log, without secrets. */
  | { readonly kind: "line"; readonly action: SeenAction; readonly line: LogLine; readonly at: Date }
  /** What it came to; the report is still to be made. */
  | {
      readonly kind: "ended";
      readonly action: SeenAction;
      readonly machine?: string;
      readonly runtime: string;
      readonly outcome: Outcome;
    }
  /** The final report was taken, refused for good, or given up because the worker stops. */
  | {
      readonly kind: "reported";
      readonly action: SeenAction;
      readonly delivery: Delivery;
      /** What was reported. */
      readonly status?: Pick<ActionStatus, "state" | "message" | "startedAt">;
      readonly at: Date;
    }
  /** It was not run, or is no longer waited for: the server serves it again. */
  | { readonly kind: "returned"; readonly action: SeenAction; readonly at: Date };

/** What an action traced of itself. */
export interface SpansSeen {
  readonly action: SeenAction;
  /** One line, OTLP as JSON, without secrets. */
  readonly text: string;
}

export interface JournalSeen {
  readonly step: "write" | "remove";
  readonly ok: boolean;
  readonly durationMs: number;
}

/** The operator's files that are re-read when they change, by the name that log and metrics give them. */
export const watchedFileNames = [
  "inventory",
  "policy",
  "http-token-file",
  "http-cert-file",
  "http-key-file",
  "http-client-ca-file",
] as const;
export type WatchedFileName = (typeof watchedFileNames)[number];

/** A file of the operator's that was looked at because it changed. */
export interface FileSeen {
  readonly name: WatchedFileName;
  /** False leaves the last good one in force. */
  readonly taken: boolean;
}

/**
 * What looks on while the worker works: metrics, status page, logs of actions, traces. It is told facts as they happen, in
 * order, and never waited for: what takes time it does by itself.
 */
export interface Observer {
  /** Undefined when the lane has ended. */
  lane(agentId: string, state: LaneState | undefined): void;
  /** The question for an action is sent; `poll` tells what came of it. */
  asking(agentId: string): void;
  poll(poll: PollSeen): void;
  action(event: ActionEvent): void;
  report(report: ReportSeen): void;
  spans(spans: SpansSeen): void;
  journal(step: JournalSeen): void;
  file(file: FileSeen): void;
}

/** What can be asked of a worker at any time. */
export interface WorkerFacts {
  /** Those of the inventory, in its order. */
  machines(): readonly string[];
  agentIds(): readonly string[];
  /** How many actions run of how many that may. */
  slots(): { readonly limit: number; readonly taken: number };
  /** Journal entries of actions whose outcome the server may not know yet. */
  unfinished(): number;
  /** Whether the tink server is at the other end of an open connection; it holds polls, so that its answers come late. */
  connected(): boolean;
  /** `Runtime.check`. */
  checkRuntime(signal: AbortSignal): Promise<string>;
  /** Absent where nothing of a cluster is used beside running actions there. */
  cluster?(): ClusterFacts;
}

/** How what is used of a cluster goes. */
export interface ClusterFacts {
  /** Why what is to be watched cannot be, a line each; empty when all is well. */
  readonly problems: readonly string[];
  /** Machines of the cluster whose objects have faults. */
  readonly unusableMachines: number;
  /** Absent where lanes are not shared. */
  readonly replicas?: ReplicaFacts;
}

export interface ReplicaFacts {
  /** Certainly one of the replicas now; otherwise it has no lanes. */
  readonly valid: boolean;
  /** With this one, as far as it knows. */
  readonly members: number;
  readonly ownedShards: number;
  /** Why it may have less than it should, in one line. */
  readonly problem?: string;
}

/** Nobody looks on. */
export const nobody: Observer = observers([], () => undefined);

/** Tells several. One that throws is told of to `complain` and keeps neither the worker nor the others from going on. */
export function observers(all: readonly Partial<Observer>[], complain: (thrown: unknown) => void): Observer {
  function tellAll(tell: (one: Partial<Observer>) => void): void {
    for (const one of all) {
      try {
        tell(one);
      } catch (thrown) {
        complain(thrown);
      }
    }
  }
  return {
    lane: (agentId, state) => tellAll((one) => one.lane?.(agentId, state)),
    asking: (agentId) => tellAll((one) => one.asking?.(agentId)),
    poll: (poll) => tellAll((one) => one.poll?.(poll)),
    action: (event) => tellAll((one) => one.action?.(event)),
    report: (report) => tellAll((one) => one.report?.(report)),
    spans: (spans) => tellAll((one) => one.spans?.(spans)),
    journal: (step) => tellAll((one) => one.journal?.(step)),
    file: (file) => tellAll((one) => one.file?.(file)),
  };
}
