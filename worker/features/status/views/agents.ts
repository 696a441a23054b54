import type { AgentRecord } from "../board/records.ts";
import { matches, type Query } from "./query.ts";
import { type Kind, listPage, rowId, type Sources, type View } from "./view.ts";
import { badge, NOTHING, tickingTime } from "./words.ts";

const STATES = ["failing", "busy", "polling", "waiting"];

export const agentKind: Kind<AgentRecord> = {
  id: ({ agentId }) => rowId(agentId),
  columns: [
    { head: "Agent ID", sort: ["agent", ({ agentId }) => agentId], show: ({ agentId }) => agentId },
    {
      head: "State",
      sort: ["state", ({ state }) => STATES.indexOf(state)],
      show: ({ state }) => badge(state),
    },
    {
      head: "Since",
      class: "time",
      sort: ["since", ({ sinceMs }) => -sinceMs],
      show: ({ sinceMs }, nowMs) => tickingTime(sinceMs, nowMs, undefined),
    },
    {
      head: "The server's answer",
      show: ({ code, state }) => code ?? (state === "failing" ? "none" : NOTHING),
    },
  ],
};

/** All agent IDs, beginning with those whose server does not answer. */
export function agentList(query: Query, { board, clock }: Sources): View {
  const agents = board
    .agents()
    .filter(({ agentId, state }) => matches(query, agentId) && (query.state === "" || state === query.state))
    .sort((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state));
  const about = { path: "/agent-ids", heading: "Agent IDs", states: STATES, search: "Agent ID" };
  return listPage(about, agentKind, agents, query, clock.monotonicMs());
}
