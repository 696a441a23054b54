import type { Progress } from "../../../shared/contract/progress.ts";
import type { JournalSeen } from "../journal/journal.ts";
import {
  type ActionId,
  type ActionState,
  actionKey,
  type Delivery,
  type ImageAction,
  type LogLine,
  type Outcome,
} from "./action.ts";

/**
 * `waiting`: no workflow is addressed to the agent ID. `polling`: a poll is sent to the server. `busy`: an action runs.
 * `failing`: the server does not answer.
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

/** The part of an action that observers may see. It excludes environment and arguments, which may contain secrets. */
export interface SeenAction extends ImageAction {
  /** The result of `actionKey`. */
  readonly key: string;
}

export function seenAction(action: ImageAction): SeenAction {
  const { workflowId, taskId, agentId, actionId, name, image } = action;
  return { key: actionKey(action), workflowId, taskId, agentId, actionId, name, image };
}

/** The part of a reported status that observers need. */
export interface ReportedStatus {
  readonly state: ActionState;
  readonly message: string;
  readonly startedAt: Date;
}

/** The events of an action, in order. Times are those of the wall clock. */
export type ActionEvent = {
  readonly action: SeenAction;
} /** It may run, and waits for its turn at the machine and for a slot. */ & (
  | { readonly kind: "taken"; readonly machine?: string | undefined; readonly at: Date }
  /** Policy, inventory or template deny the action; `ended` follows. */
  | { readonly kind: "refused"; readonly reason: string; readonly at: Date }
  /** The server has acknowledged the start, or this worker adopts an action that an earlier one started. */
  | {
      readonly kind: "started";
      readonly machine?: string | undefined;
      readonly runtime: string;
      readonly startedAt: Date;
      readonly timeoutMs: number;
      readonly adopted: boolean;
    }
  /** A line of the action's own log, redacted. */
  | { readonly kind: "line"; readonly line: LogLine; readonly at: Date }
  /** What the action does now, or the runtime for it; undefined if that is unknown. `at` is when it began. */
  | { readonly kind: "progress"; readonly progress: Progress | undefined; readonly at: Date }
  /** The action has ended; its report is not sent yet. */
  | {
      readonly kind: "ended";
      readonly machine?: string | undefined;
      readonly runtime: string;
      readonly outcome: Outcome;
    }
  /** The final report was acknowledged, dropped, or postponed because the worker stops. After a rejection, another one follows. */
  | {
      readonly kind: "reported";
      readonly delivery: Delivery;
      readonly status?: ReportedStatus | undefined;
      readonly at: Date;
    }
  /** The action was not run, or its adoption failed. The server serves it again. */
  | { readonly kind: "returned"; readonly at: Date }
);

export interface SpansSeen {
  readonly action: SeenAction;
  /** One line of OTLP as JSON, redacted. */
  readonly text: string;
}

/**
 * Receives the events of a worker, in order, for which it has a method: metrics, status page, action logs and traces. The
 * worker never waits for an observer, so slow work belongs in the background.
 */
export interface Observer {
  /** The state of an agent ID's lane; undefined when the lane has ended. */
  lane?(agentId: string, state: LaneState | undefined): void;
  /** A poll is sent; `poll` follows. */
  polling?(agentId: string): void;
  poll?(poll: PollSeen): void;
  action?(event: ActionEvent): void;
  report?(report: ReportSeen): void;
  spans?(spans: SpansSeen): void;
  journal?(step: JournalSeen): void;
}

/** All observers, called as one. */
export type Observers = Required<Observer>;

export const noObserver: Observers = observers([], () => undefined);

/** Combines observers. If one throws, `onFailure` is called; the others and the worker continue. */
export function observers(all: readonly Observer[], onFailure: (thrown: unknown) => void): Observers {
  const callAll = observerCaller(all, onFailure);
  return {
    lane: (agentId, state) => callAll((one) => one.lane?.(agentId, state)),
    polling: (agentId) => callAll((one) => one.polling?.(agentId)),
    poll: (poll) => callAll((one) => one.poll?.(poll)),
    action: (event) => callAll((one) => one.action?.(event)),
    report: (report) => callAll((one) => one.report?.(report)),
    spans: (spans) => callAll((one) => one.spans?.(spans)),
    journal: (step) => callAll((one) => one.journal?.(step)),
  };
}

/** Calls every observer with an event, even if one throws. */
export function observerCaller<One>(all: readonly One[], onFailure: (thrown: unknown) => void) {
  return (call: (one: One) => void): void => {
    for (const one of all) {
      try {
        call(one);
      } catch (thrown) {
        onFailure(thrown);
      }
    }
  };
}
