import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { withTimeout } from "../../../shared/timeout.ts";
import type { Action } from "../../action.ts";
import { MalformedAction } from "../action-fields.ts";
import type { Channel } from "../tink/channel.ts";
import { acknowledgementOfError, pollOfError } from "../tink/errors.ts";
import type { Acknowledgement, Poll, Transport, WorkflowsAtHand } from "../transport.ts";
import { type WorkflowContext, WorkflowService } from "./gen/workflow_pb.ts";
import { actionOf, statusOf } from "./messages.ts";
import { turnOf } from "./turn.ts";

/** Nothing is held by this server: a call that takes longer is lost. */
const CALL_TIMEOUT_MS = 30_000;
/** gRPC's usual limit. */
const LARGEST_MESSAGE_BYTES = 4 * 1_024 * 1_024;

/**
 * The deprecated workflow API of tink 0.8 to 0.12. It serves a worker ID every workflow that waits for it, so that many may
 * run beside each other, and it is asked now and then, because it never holds a call. The channel is the caller's.
 */
export function legacyApi(channel: Channel): Omit<Transport, "close"> {
  const client = createClient(
    WorkflowService,
    createGrpcTransport({
      baseUrl: channel.authority,
      sessionManager: channel,
      readMaxBytes: LARGEST_MESSAGE_BYTES,
    }),
  );
  /** The workflow each agent ID was served last: the one behind it comes first, so that none starves. */
  const lastServed = new Map<string, string>();

  async function ask(agentId: string, signal: AbortSignal, atHand: WorkflowsAtHand): Promise<Poll> {
    const options = { signal, timeoutMs: CALL_TIMEOUT_MS };
    const contexts: WorkflowContext[] = [];
    for await (const context of client.getWorkflowContexts({ workerId: agentId }, options)) {
      if (!atHand.has(context.workflowId)) contexts.push(context);
    }
    for (const context of inTurn(contexts, lastServed.get(agentId))) {
      const { workflowId } = context;
      const { actionList } = await client.getWorkflowActions({ workflowId }, options);
      const index = turnOf(context, actionList, agentId);
      const given = index === undefined ? undefined : actionList[index];
      if (index === undefined || !given) continue;
      lastServed.set(agentId, workflowId);
      return pollOf(() => actionOf(workflowId, index, given));
    }
    return { kind: "idle", reason: "no workflow waits for this worker" };
  }

  return {
    servesSeveral: () => true,

    async next(agentId, signal, atHand = new Set()) {
      signal.throwIfAborted();
      try {
        return await withTimeout(CALL_TIMEOUT_MS, signal, (bound) => ask(agentId, bound, atHand));
      } catch (thrown) {
        signal.throwIfAborted();
        return pollOfError(thrown);
      }
    },

    async report(status, signal) {
      signal.throwIfAborted();
      try {
        await withTimeout(CALL_TIMEOUT_MS, signal, (bound) =>
          client.reportActionStatus(statusOf(status), { signal: bound, timeoutMs: CALL_TIMEOUT_MS }),
        );
        return { kind: "acknowledged" };
      } catch (thrown) {
        signal.throwIfAborted();
        return legacyAcknowledgement(thrown);
      }
    },
  };
}

/** Those behind the one served last go first, in the order of their IDs. */
function inTurn(contexts: readonly WorkflowContext[], last: string | undefined): readonly WorkflowContext[] {
  const sorted = contexts.toSorted((a, b) => (a.workflowId < b.workflowId ? -1 : 1));
  const behind = last === undefined ? 0 : sorted.findIndex(({ workflowId }) => workflowId > last);
  return behind <= 0 ? sorted : [...sorted.slice(behind), ...sorted.slice(0, behind)];
}

function pollOf(make: () => Action): Poll {
  try {
    return { kind: "action", action: make() };
  } catch (thrown) {
    if (!(thrown instanceof MalformedAction)) throw thrown;
    return { kind: "failed", code: "DataLoss", reason: thrown.message };
  }
}

/** This server says InvalidArgument to everything that is wrong, write conflicts among it. */
function legacyAcknowledgement(thrown: unknown): Exclude<Acknowledgement, { kind: "acknowledged" }> {
  const answer = acknowledgementOfError(thrown);
  const conflict = ConnectError.from(thrown).code === Code.InvalidArgument;
  return conflict ? { kind: "retry", code: answer.code, reason: answer.reason, bounded: true } : answer;
}
