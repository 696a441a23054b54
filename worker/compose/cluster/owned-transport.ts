import type { ActionStatus } from "../../action/action.ts";
import type { LaneShares } from "../../cluster/sharing/lane-shares.ts";
import type { ActionSource, Poll, StatusSink } from "../../source/source.ts";

/**
 * An action that waited longer for its turn is served again before it starts: another replica may have ended it meanwhile. A Job is
 * kept for much longer, so that an action that waited less is adopted at worst.
 */
export const STALE_MS = 5_000;

/**
 * Drops what another replica may own by now: this process may have been suspended, or without a network. An end is not repeated after
 * that, because the server keeps the last report as the state.
 */
export function ownedTransport(
  transport: ActionSource & StatusSink,
  shares: Pick<LaneShares, "identity" | "owns">,
): ActionSource & StatusSink {
  /** The identity with which an end was reported first. */
  const reported = new WeakMap<ActionStatus, string>();
  return {
    servesSeveral: () => transport.servesSeveral(),
    next: async (agentId, signal, inFlight) => {
      if (!shares.owns(agentId)) return NOT_OURS;
      const poll = await transport.next(agentId, signal, inFlight);
      return poll.kind === "action" && !shares.owns(agentId) ? NOT_OURS : poll;
    },
    isUnavailable: (action) => transport.isUnavailable?.(action) ?? false,
    isGone: async (running, signal) =>
      shares.owns(running.action.agentId) && ((await transport.isGone?.(running, signal)) ?? false),
    report: async (status, signal) => {
      const isOurs = shares.owns(status.action.agentId);
      const refused = { code: "not-owned", reason: NOT_OURS.reason };
      if (status.state === "running") {
        return isOurs ? transport.report(status, signal) : { kind: "rejected", ...refused };
      }
      const identity = reported.get(status);
      if (identity !== undefined && !(isOurs && identity === shares.identity)) {
        return { kind: "withheld", ...refused };
      }
      reported.set(status, shares.identity);
      return transport.report(status, signal);
    },
  };
}

const NOT_OURS = { kind: "idle", reason: "another replica has the agent ID" } satisfies Poll;
