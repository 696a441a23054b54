import { Code, ConnectError } from "@connectrpc/connect";
import { INPUT_BYTES } from "../../../shared/input-limits.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import type { Action, ActionId, ActionStatus } from "../../core/action/action.ts";
import type { Acknowledgement, Poll, WorkflowSet } from "../../core/ports/source.ts";
import { MalformedAction } from "../../sources/action-fields.ts";
import { callStreaming, callUnary } from "../../sources/grpc/call.ts";
import type { Channel } from "../../sources/grpc/channel.ts";
import { acknowledgementOfError, codeName, failedPollOfError } from "../../sources/grpc/grpc-errors.ts";
import type { ServerApi } from "../../sources/server/tink-server.ts";
import type { TinkApi } from "../../sources/tink/tink-api.ts";
import { currentActionOf, currentIndexOf } from "./current-action.ts";
import {
  State,
  type WorkflowAction,
  type WorkflowActionStatus,
  type WorkflowContext,
  WorkflowService,
} from "./gen/workflow_pb.ts";
import { actionOf, statusOf } from "./legacy-messages.ts";

const { getWorkflowContexts, getWorkflowActions, reportActionStatus } = WorkflowService.method;

/** The timeout of a call, because this server never holds one. */
const CALL_TIMEOUT_MS = 30_000;
/**
 * The timeout of the first call. The deprecated server answers at once, but a proxy without a server behind it may never
 * answer.
 */
const QUESTION_TIMEOUT_MS = 15_000;
/** Room for about 100,000 workflows: the server with a database also lists completed ones. */
const LARGEST_ANSWER_BYTES = INPUT_BYTES.legacyAnswer;

const NOT_BEGUN: Acknowledgement = {
  kind: "gone",
  code: codeName(Code.FailedPrecondition),
  reason: "the server has no start of the action: the workflow was recreated",
  perhapsStale: true,
};

/** The server's message when the workflow's current action is a different one. */
const MOVED_ON = /\breported (task|action) name does not match\b/;

/** The failure of one workflow. The poll does not fail if another workflow has an action. */
type Failed = Poll & { readonly kind: "failed" };

/**
 * The deprecated workflow API of tink 0.8 to 0.12. It serves a worker ID all of its pending workflows, so that several may
 * run concurrently, and it never holds a call. The caller closes the channel.
 */
export function legacyApi(channel: Channel, onWorkflow?: SeeWorkflow): TinkApi {
  const calls: LegacyCalls = {
    contexts: (agentId, signal) => contextsOf(channel, agentId, signal),
    actions: async (workflowId, signal) =>
      (await callUnary(channel, getWorkflowActions, { workflowId }, options(signal))).actionList,
    report: async (status, signal) =>
      void (await callUnary(channel, reportActionStatus, status, options(signal))),
  };
  return legacyTransport(calls, onWorkflow);
}

/** Called with all actions of a workflow. Must not throw. */
type SeeWorkflow = (actions: readonly Action[]) => void;

/** The calls of the service, each with a timeout. Reject with a `ConnectError`, or with the signal's reason. */
export interface LegacyCalls {
  contexts(agentId: string, signal: AbortSignal): Promise<readonly WorkflowContext[]>;
  actions(workflowId: string, signal: AbortSignal): Promise<readonly WorkflowAction[]>;
  report(status: WorkflowActionStatus, signal: AbortSignal): Promise<void>;
}

/** Interprets the answers to the calls. */
export function legacyTransport(calls: LegacyCalls, onWorkflow?: SeeWorkflow): TinkApi {
  /** The workflow that each agent ID was served last. The next one comes first, so that none starves. */
  const lastServed = new Map<string, string>();

  /** Asks for the next action. Rejects when the server does not answer; an error of one workflow is a failed poll. */
  async function askFor(
    context: WorkflowContext,
    agentId: string,
    signal: AbortSignal,
  ): Promise<Poll | undefined> {
    const { workflowId } = context;
    try {
      const listed = await calls.actions(workflowId, signal);
      const current = currentActionOf(context, listed, agentId);
      if (current === undefined) return undefined;
      if (onWorkflow && current.index === 0) {
        const named = listed.filter(({ name, taskName, workerId }) => name && taskName && workerId);
        onWorkflow(named.map((action, index) => actionOf(workflowId, { index, action }, false)));
      }
      const begun = context.currentAction !== "" && context.currentActionState === State.RUNNING;
      return { kind: "action", action: actionOf(workflowId, current, begun) };
    } catch (thrown) {
      const malformed = thrown instanceof MalformedAction;
      if (malformed) return { kind: "failed", code: "DataLoss", reason: `${workflowId}: ${thrown.message}` };
      if (isAnswer(thrown)) return failedPollOfError(thrown);
      throw thrown;
    }
  }

  async function ask(agentId: string, signal: AbortSignal, inFlight: WorkflowSet): Promise<Poll> {
    const contexts = await calls.contexts(agentId, signal);
    const waiting = contexts.filter(
      (context) => !inFlight.has(context.workflowId) && currentIndexOf(context) !== undefined,
    );
    let failed: Failed | undefined;
    for (const context of roundRobin(waiting, lastServed.get(agentId))) {
      const poll = await askFor(context, agentId, signal);
      if (poll?.kind === "action") {
        lastServed.set(agentId, context.workflowId);
        return poll;
      }
      if (poll?.kind === "failed") failed ??= poll;
    }
    return failed ?? { kind: "idle", reason: "no workflow waits for this worker" };
  }

  /** Whether an action is the current one of its workflow, and whether it has begun. The server accepts an end for either. */
  async function positionOf(
    { workflowId, agentId, taskId, name }: ActionId,
    signal: AbortSignal,
  ): Promise<"to-begin" | "begun" | "not-current"> {
    const contexts = await calls.contexts(agentId, signal);
    const current = contexts.find(
      (context) =>
        context.workflowId === workflowId && context.currentTask === taskId && context.currentAction === name,
    );
    if (!current) return "not-current";
    return current.currentActionState === State.PENDING ? "to-begin" : "begun";
  }

  /**
   * Reports a status. A recreated workflow has the same names, and this server answers every error with InvalidArgument: a
   * deleted workflow, one with another current action, a write conflict, an unavailable store. Its list of workflows tells
   * them apart.
   */
  async function report(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    const position = status.state === "running" ? undefined : await positionOf(status.action, signal);
    if (position === "to-begin") return NOT_BEGUN;
    try {
      await calls.report(statusOf(status), signal);
      return { kind: "acknowledged" };
    } catch (thrown) {
      const { kind, ...answer } = acknowledgementOfError(thrown);
      if (ConnectError.from(thrown).code !== Code.InvalidArgument) return { kind, ...answer };
      const isGone = position === "not-current" || MOVED_ON.test(answer.reason);
      return isGone
        ? { kind: "gone", ...answer, perhapsStale: true }
        : { kind: "retry", ...answer, perhapsRejected: true };
    }
  }

  return {
    servesSeveral: () => true,

    async next(agentId, signal, inFlight = new Set()) {
      signal.throwIfAborted();
      try {
        return await withTimeout(CALL_TIMEOUT_MS, signal, (bound) => ask(agentId, bound, inFlight));
      } catch (thrown) {
        signal.throwIfAborted();
        return failedPollOfError(thrown);
      }
    },

    async report(status, signal) {
      signal.throwIfAborted();
      try {
        return await withTimeout(CALL_TIMEOUT_MS, signal, (bound) => report(status, bound));
      } catch (thrown) {
        signal.throwIfAborted();
        return acknowledgementOfError(thrown);
      }
    },

    // "invalid workflow id" may also mean an unavailable store; the list does not.
    async isGone({ action: { workflowId, agentId } }, signal) {
      signal.throwIfAborted();
      try {
        const contexts = await withTimeout(CALL_TIMEOUT_MS, signal, (bound) =>
          calls.contexts(agentId, bound),
        );
        return !contexts.some((context) => context.workflowId === workflowId);
      } catch {
        signal.throwIfAborted();
        return false;
      }
    },
  };
}

/** Sorts workflows by ID, beginning after the one that was served last. */
function roundRobin(
  contexts: readonly WorkflowContext[],
  last: string | undefined,
): readonly WorkflowContext[] {
  const sorted = contexts.toSorted((a, b) => (a.workflowId < b.workflowId ? -1 : 1));
  const behind = last === undefined ? 0 : sorted.findIndex(({ workflowId }) => workflowId > last);
  return behind <= 0 ? sorted : [...sorted.slice(behind), ...sorted.slice(0, behind)];
}

/** Whether the error is the server's own answer about one workflow: it is deleted or cannot be read. */
function isAnswer(thrown: unknown): boolean {
  const { code, isWireError } = ConnectError.from(thrown);
  const aboutAll = [Code.Unavailable, Code.Unimplemented, Code.DeadlineExceeded, Code.Canceled];
  return isWireError && !aboutAll.includes(code);
}

/**
 * Whether the server behind a channel implements the deprecated API. Makes the only call that changes nothing. Rejects
 * without a definite answer: the server cannot be reached, or something else answers in its place.
 */
export async function speaksLegacy(channel: Channel, agentId: string): Promise<boolean> {
  const never = new AbortController().signal;
  return withTimeout(QUESTION_TIMEOUT_MS, never, async (signal) => {
    try {
      await contextsOf(channel, agentId, signal);
      return true;
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      // Only a gRPC server's own status counts. A proxy's 404 has the same code.
      if (error.code === Code.Unimplemented && error.isWireError) return false;
      throw thrown;
    }
  });
}

/** The workflows of an agent ID. */
function contextsOf(
  channel: Channel,
  agentId: string,
  signal: AbortSignal,
): Promise<readonly WorkflowContext[]> {
  return callStreaming(channel, getWorkflowContexts, { workerId: agentId }, options(signal));
}

function options(signal: AbortSignal) {
  return { signal, timeoutMs: CALL_TIMEOUT_MS, readMaxBytes: LARGEST_ANSWER_BYTES };
}

/** The deprecated API. `onWorkflow` is called with all actions of a workflow before the first one is served. */
export function legacyServerApi(onWorkflow?: SeeWorkflow): ServerApi {
  return { connect: (channel) => legacyApi(channel, onWorkflow), speaks: speaksLegacy };
}
