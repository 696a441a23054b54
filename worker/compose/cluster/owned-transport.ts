import type { ActionSource, Poll, StatusSink } from "../../source/source.ts";

/**
 * An action that waited longer for its turn is served again before it starts: another replica may have ended it meanwhile. A Job is
 * kept for much longer, so that an action that waited less is adopted at worst.
 */
export const STALE_MS = 5_000;

/** Drops what another replica may own by now: this process may have been suspended for a while. */
export function ownedSource(source: ActionSource, owns: (agentId: string) => boolean): ActionSource {
  return {
    servesSeveral: () => source.servesSeveral(),
    next: async (agentId, signal, inFlight) => {
      if (!owns(agentId)) return NOT_OURS;
      const poll = await source.next(agentId, signal, inFlight);
      return poll.kind === "action" && !owns(agentId) ? NOT_OURS : poll;
    },
  };
}

/** Rejects the start of an action that another replica may have ended by now: the server keeps the last report as the state. */
export function ownedSink(sink: StatusSink, owns: (agentId: string) => boolean): StatusSink {
  return {
    report: async (status, signal) =>
      status.state === "running" && !owns(status.action.agentId)
        ? { kind: "rejected", code: "not-owned", reason: NOT_OURS.reason }
        : sink.report(status, signal),
  };
}

const NOT_OURS = { kind: "idle", reason: "another replica has the agent ID" } satisfies Poll;
