import { isEnded } from "../board/action-record.ts";
import type { PageOptions } from "../board/page-options.ts";
import { html } from "./html.ts";
import { pager, renderTable, searchForm, sectionsOf, stateLinks, tablePart } from "./parts.ts";
import { actionMatches, matches, pageOf, type Query } from "./query.ts";
import { ACTION_COLUMNS, actionRow, LANE_COLUMNS, laneRow } from "./rows.ts";
import type { Row, View } from "./view.ts";

const ROWS_PER_PAGE = 100;
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
  const nowMs = clock.monotonicMs();
  return listView(query, records, (record) => actionRow(record, nowMs), {
    name: "actions",
    title: "Actions",
    columns: ACTION_COLUMNS,
    states: ACTION_STATES,
    search: "Machine, action, workflow or agent ID",
  });
}

/** All lanes, failing ones first. */
export function laneList(query: Query, { board, clock }: PageOptions): View {
  const rank = (state: string) => LANE_STATES.indexOf(state);
  const lanes = board
    .lanes()
    .filter(({ agentId, state }) => matches(query, agentId) && (query.state === "" || state === query.state))
    .sort((a, b) => rank(a.state) - rank(b.state));
  const nowMs = clock.monotonicMs();
  return listView(query, lanes, (lane) => laneRow(lane, nowMs), {
    name: "lanes",
    title: "Lanes",
    columns: LANE_COLUMNS,
    states: LANE_STATES,
    search: "Agent ID",
  });
}

interface ListOptions {
  /** The table's ID and the page's path. */
  readonly name: string;
  readonly title: string;
  readonly columns: readonly string[];
  readonly states: readonly string[];
  /** The label of the search form. */
  readonly search: string;
}

function listView<T>(query: Query, all: readonly T[], row: (one: T) => Row, options: ListOptions): View {
  const { name, title, columns, states, search } = options;
  const path = `/${name}`;
  const page = pageOf(all, ROWS_PER_PAGE, query);
  const table = tablePart({
    id: name,
    heading: title,
    columns,
    count: page.all,
    rows: page.items.map(row),
    none: "None.",
    more: pager(path, query, page),
  });
  return {
    status: 200,
    title,
    sections: sectionsOf([table]),
    render: () => html`<h1 class="quiet">${title}</h1>
${searchForm(path, query, search)}
${stateLinks(path, query, states)}
${renderTable(table)}`,
  };
}
