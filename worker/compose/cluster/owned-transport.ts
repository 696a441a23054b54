import type { ActionStatus } from "../../action/action.ts";
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

/**
 * Rejects the start of an action that another replica may have ended by now, and does not repeat an end: the server keeps the last
 * report as the state.
 */
export function ownedSink(sink: StatusSink, owns: (agentId: string) => boolean): StatusSink {
  const sent = new WeakSet<ActionStatus>();
  return {
    report: async (status, signal) => {
      if (!owns(status.action.agentId)) {
        const refusal = { code: "not-owned", reason: NOT_OURS.reason } as const;
        if (status.state === "running") return { kind: "rejected", ...refusal };
        if (sent.has(status)) return { kind: "withheld", ...refusal };
      }
      sent.add(status);
      return sink.report(status, signal);
    },
  };
}

const NOT_OURS = { kind: "idle", reason: "another replica has the agent ID" } satisfies Poll;
