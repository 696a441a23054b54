import type { ActionSource, Poll, StatusSink } from "../core/ports/source.ts";

/**
 * Lets through only what the leader may send: this process may have been suspended, or without a network. The next leader then adopts its
 * actions and reports them; a report is repeated here only in case this worker leads again.
 */
export function leadersTransport(
  transport: ActionSource & StatusSink,
  isLeading: () => boolean,
): ActionSource & StatusSink {
  return {
    servesSeveral: () => transport.servesSeveral(),
    next: async (agentId, signal, inFlight) => {
      if (!isLeading()) return IDLE;
      const poll = await transport.next(agentId, signal, inFlight);
      return poll.kind === "action" && !isLeading() ? IDLE : poll;
    },
    isUnavailable: (action) => transport.isUnavailable?.(action) ?? false,
    isGone: async (running, signal) => isLeading() && ((await transport.isGone?.(running, signal)) ?? false),
    report: async (status, signal) => {
      if (isLeading()) return transport.report(status, signal);
      return {
        kind: status.state === "running" ? "rejected" : "retry",
        code: "not-leading",
        reason: NOT_LEADING,
      };
    },
  };
}

const NOT_LEADING = "another worker may lead";
const IDLE = { kind: "idle", reason: NOT_LEADING } satisfies Poll;
