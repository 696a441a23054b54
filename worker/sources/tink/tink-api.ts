import { ConnectError } from "@connectrpc/connect";
import type { Hardware } from "../../../shared/bmc/operations/inventory.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import type { ActionStatus } from "../../core/action/action.ts";
import type { ActionSource, Poll, StatusSink } from "../../core/ports/source.ts";
import { MalformedAction } from "../action-fields.ts";
import { callUnary } from "../grpc/call.ts";
import { Channel, type ChannelOptions } from "../grpc/channel.ts";
import { createDialer } from "../grpc/dial.ts";
import { acknowledgementOfError, failedPollOfError, saysGone } from "../grpc/grpc-errors.ts";
import { agentAttributes } from "./agent-attributes.ts";
import { PreconditionFailureSchema } from "./gen/precondition_failure_pb.ts";
import {
  type ActionResponse,
  PreconditionFailureViolation,
  PreconditionFailureViolationSchema,
  WorkflowService,
} from "./gen/workflow_pb.ts";
import { actionOf, statusRequestOf } from "./tink-messages.ts";

/** The calls of one API of tink servers. */
export interface TinkApi extends ActionSource, StatusSink {}

export type TinkApiOptions = ChannelOptions & TinkApiTerms;

interface TinkApiTerms {
  /** Must be longer than the minute for which the server holds a call. */
  readonly pollTimeoutMs?: number;
  /** The server also holds a report for a minute if it cannot write it. */
  readonly reportTimeoutMs?: number;
  /** The hardware that polls report for the machine of their agent ID. */
  readonly hardware?: AgentHardware;
}

interface AgentHardware {
  /** The hardware for an agent ID; undefined while it is unknown. */
  of(agentId: string): Hardware | undefined;
  /** Returns a signal that aborts when the hardware becomes known; undefined if that is not expected. */
  awaited(agentId: string): AbortSignal | undefined;
}

const POLL_TIMEOUT_MS = 75_000;
const REPORT_TIMEOUT_MS = 75_000;
/** The usual limit of gRPC. An action has a few kilobytes. */
const LARGEST_MESSAGE_BYTES = 4 * 1_024 * 1_024;

/** Opens the current API on its own channel. Throws a `TypeError` if the server is not an address. */
export function connectTinkApi(options: TinkApiOptions): TinkApi & { close(): Promise<void> } {
  const channel = new Channel(createDialer(options), options);
  return { ...currentApi(channel, options), close: () => channel.close() };
}

/** The tink workflow API of Tinkerbell 0.17 and later, for any number of agent IDs. The caller closes the channel. */
export function currentApi(
  channel: Channel,
  { pollTimeoutMs = POLL_TIMEOUT_MS, reportTimeoutMs = REPORT_TIMEOUT_MS, hardware }: TinkApiTerms = {},
): TinkApi {
  const { getAction, reportActionStatus } = WorkflowService.method;
  const options = (timeoutMs: number, signal: AbortSignal) => ({
    timeoutMs,
    signal,
    readMaxBytes: LARGEST_MESSAGE_BYTES,
  });

  async function send(status: ActionStatus, signal: AbortSignal): Promise<void> {
    const request = statusRequestOf(status);
    await withTimeout(reportTimeoutMs, signal, (callSignal) =>
      callUnary(channel, reportActionStatus, request, options(reportTimeoutMs, callSignal)),
    );
  }

  return {
    async next(agentId, signal) {
      signal.throwIfAborted();
      const known = hardware?.of(agentId);
      const request = { agentId, ...(known && { agentAttributes: agentAttributes(known) }) };
      // The server matches a held poll by the attributes that it was sent with.
      const outdated = known ? undefined : hardware?.awaited(agentId);
      const either = outdated ? AbortSignal.any([signal, outdated]) : signal;
      try {
        const response = await withTimeout(pollTimeoutMs, either, (callSignal) =>
          callUnary(channel, getAction, request, options(pollTimeoutMs, callSignal)),
        );
        return pollOf(response, agentId);
      } catch (thrown) {
        signal.throwIfAborted();
        if (outdated?.aborted) return { kind: "idle", reason: "the hardware is known by now" };
        return pollOfError(thrown);
      }
    },

    servesSeveral: () => false,

    async report(status, signal) {
      signal.throwIfAborted();
      try {
        await send(status, signal);
        return { kind: "acknowledged" };
      } catch (thrown) {
        signal.throwIfAborted();
        return acknowledgementOfError(thrown);
      }
    },

    // The server has no read-only call. It writes nothing if a report repeats the state that it has.
    async isGone(running, signal) {
      signal.throwIfAborted();
      try {
        await send(running, signal);
        return false;
      } catch (thrown) {
        signal.throwIfAborted();
        return saysGone(thrown);
      }
    },
  };
}

function pollOf(response: ActionResponse, agentId: string): Poll {
  try {
    return { kind: "action", action: actionOf(response, agentId) };
  } catch (thrown) {
    if (!(thrown instanceof MalformedAction)) throw thrown;
    return { kind: "failed", code: "DataLoss", reason: thrown.message };
  }
}

/** Codes that mean that there is no action. The deadline is longer than the server holds a call. */
const IDLE_CODES: ReadonlySet<string> = new Set(["NotFound", "FailedPrecondition", "DeadlineExceeded"]);

/** Converts anything `GetAction` threw to a poll. */
export function pollOfError(thrown: unknown): Exclude<Poll, { kind: "action" }> {
  const failed = failedPollOfError(thrown);
  const isIdle = IDLE_CODES.has(failed.code) || saysNoActionAvailable(ConnectError.from(thrown));
  return isIdle ? { kind: "idle", reason: failed.reason } : failed;
}

function saysNoActionAvailable(error: ConnectError): boolean {
  const type = PreconditionFailureViolationSchema.value[PreconditionFailureViolation.NO_ACTION_AVAILABLE];
  return error
    .findDetails(PreconditionFailureSchema)
    .some((failure) => failure.violations.some((violation) => violation.type === type?.name));
}
