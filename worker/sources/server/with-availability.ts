import type { Acknowledgement, Poll, Transport } from "../../core/ports/source.ts";
import { Availability, type AvailabilityOptions, type Failure } from "./availability.ts";

/**
 * A transport that makes no calls while its server is unavailable: a poll then fails at once with the outage, which its lane
 * waits for; a report waits itself.
 */
export function withAvailability(transport: Transport, options: AvailabilityOptions): Transport {
  const availability = new Availability(options);
  const { connected } = options;

  function pollFailure(poll: Poll): Failure | undefined {
    if (poll.kind !== "failed") return undefined;
    // A poll that the server holds longer than its deadline is idle, not failed.
    const isOutage = poll.code === "Unavailable" || poll.code === "DeadlineExceeded" || !connected();
    return isOutage ? { code: poll.code, reason: poll.reason } : undefined;
  }

  function reportFailure(answer: Acknowledgement): Failure | undefined {
    if (answer.kind === "acknowledged" || (answer.code !== "Unavailable" && connected())) return undefined;
    return { code: answer.code, reason: answer.reason };
  }

  return {
    servesSeveral: () => transport.servesSeveral(),

    async next(agentId, signal, inFlight) {
      signal.throwIfAborted();
      const refusal = availability.refusal(agentId);
      if (refusal) return { kind: "failed", ...refusal, outage: availability };
      const poll = () => transport.next(agentId, signal, inFlight);
      const { result, failure } = await availability.call(agentId, poll, pollFailure);
      return failure ? { kind: "failed", ...failure, outage: availability } : result;
    },

    async report(status, signal) {
      const { agentId } = status.action;
      signal.throwIfAborted();
      while (availability.refusal(agentId)) await availability.over(LONGEST_WAIT_MS, signal);
      const report = () => transport.report(status, signal);
      const { result, failure } = await availability.call(agentId, report, reportFailure);
      return failure ? { kind: "retry", ...failure, outage: true } : result;
    },

    async isGone(running, signal) {
      signal.throwIfAborted();
      if (availability.refusal(running.action.agentId)) return false;
      return (await transport.isGone?.(running, signal)) ?? false;
    },

    isUnavailable: ({ agentId }) => availability.refusal(agentId) !== undefined,

    probeNow: () => availability.probeNow(),

    async close() {
      availability.close();
      await transport.close();
    },
  };
}

const LONGEST_WAIT_MS = 60_000;
