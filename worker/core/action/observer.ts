import type { Progress } from "../../../shared/contract/progress.ts";
import type { JournalSeen } from "../journal/journal.ts";
import {
  type ActionId,
  type ActionState,
  type ActionStatus,
  actionKey,
  type Delivery,
  type LogLine,
  type Outcome,
} from "./action.ts";

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

/**
 * Gets the events of a worker, in order, that it has a method for: metrics, status page, action logs, traces. The worker never waits
 * for it, so it does slow work in the background.
 */
export interface Observer {
  /** Undefined when the lane has ended. */
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
