import { isEnded } from "../board/action-record.ts";
import type { PageOptions } from "../board/page-options.ts";
import { html } from "./html.ts";
import { pager, renderTable, searchForm, sectionsOf, stateLinks, tablePart } from "./parts.ts";
import { actionMatches, matches, pageOf, type Query } from "./query.ts";
import { ACTION_COLUMNS, actionRow, LANE_COLUMNS, laneRow } from "./rows.ts";
import type { View } from "./view.ts";

const ROWS_A_PAGE = 100;
const ACTION_STATES = ["waiting", "running", "ended", "succeeded", "failed"];
const LANE_STATES = ["failing", "busy", "polling", "waiting"];

/** All kept actions: those in flight first, then ended ones, newest first. */
export function actionList(query: Query, { board, clock }: PageOptions): View {
  const { state } = query;
  const records = [...board.active(), ...board.ended()].filter(
    (record) =>
      actionMatches(query, record) &&
      (state === "" || record.phase === state || (state === "ended" && isEnded(record))),
  );
  const page = pageOf(records, ROWS_A_PAGE, query);
  const nowMs = clock.monotonicMs();
  const table = tablePart({
    id: "actions",
    heading: "Actions",
    columns: ACTION_COLUMNS,
    count: page.all,
    rows: page.items.map((record) => actionRow(record, nowMs)),
    none: "None.",
    more: pager("/actions", query, page),
  });
  return {
    status: 200,
    title: "Actions",
    sections: sectionsOf([table]),
    render: () => html`<h1 class="quiet">Actions</h1>
${searchForm("/actions", query, "Machine, action, workflow or agent ID")}
${stateLinks("/actions", query, ACTION_STATES)}
${renderTable(table)}`,
  };
}

/** All lanes, failing ones first. */
export function laneList(query: Query, { board, clock }: PageOptions): View {
  const rank = (state: string) => LANE_STATES.indexOf(state);
  const lanes = board
    .lanes()
    .filter(({ agentId, state }) => matches(query, agentId) && (query.state === "" || state === query.state))
    .sort((a, b) => rank(a.state) - rank(b.state));
  const page = pageOf(lanes, ROWS_A_PAGE, query);
  const nowMs = clock.monotonicMs();
  const table = tablePart({
    id: "lanes",
    heading: "Lanes",
    columns: LANE_COLUMNS,
    count: page.all,
    rows: page.items.map((lane) => laneRow(lane, nowMs)),
    none: "None.",
    more: pager("/lanes", query, page),
  });
  return {
    status: 200,
    title: "Lanes",
    sections: sectionsOf([table]),
    render: () => html`<h1 class="quiet">Lanes</h1>
${searchForm("/lanes", query, "Agent ID")}
${stateLinks("/lanes", query, LANE_STATES)}
${renderTable(table)}`,
  };
}
