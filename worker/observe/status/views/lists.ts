import { type ActionRecord, isEnded } from "../board/action-record.ts";
import type { LaneRecord } from "../board/lane-records.ts";
import type { PageOptions } from "../board/page-options.ts";
import { html } from "./html.ts";
import { isIn, MACHINE_STATES, type ShownMachine, shownMachine } from "./machine-states.ts";
import { pager, renderTable, searchForm, sectionsOf, stateLinks, tablePart } from "./parts.ts";
import { actionMatches, matches, pageOf, type Query, type SortKeys, sorted } from "./query.ts";
import { ACTION_COLUMNS, actionRow, LANE_COLUMNS, laneRow, MACHINE_COLUMNS, machineRow } from "./rows.ts";
import type { Row, View } from "./view.ts";

const ROWS_PER_PAGE = 100;
const ACTION_STATES = ["waiting", "running", "ended", "succeeded", "failed"];
const LANE_STATES = ["failing", "busy", "polling", "waiting"];

const ACTION_KEYS: SortKeys<ActionRecord> = {
  action: { column: "Action", value: ({ action }) => action.name },
  machine: { column: "Machine", value: ({ machine }) => machine ?? "" },
  state: { column: "State", value: ({ phase, class: errorClass }) => `${phase} ${errorClass ?? ""}` },
  // By the begin of the state, the latest first.
  time: { column: "Time", value: ({ sinceMs }) => -sinceMs },
  workflow: { column: "Workflow", value: ({ action }) => action.workflowId },
};

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
    keys: ACTION_KEYS,
    states: ACTION_STATES,
    search: "Machine, action, workflow or agent ID",
  });
}

const MACHINE_KEYS: SortKeys<ShownMachine> = {
  name: { column: "Machine", value: ({ name }) => name },
  power: { column: "Power, last seen", value: ({ record }) => record?.power?.state ?? "unknown" },
  // The most urgent first.
  state: { column: "Now", value: ({ state }) => MACHINE_STATES.indexOf(state) },
  ended: { column: "Last action", value: ({ last }) => -(last?.sinceMs ?? Number.NEGATIVE_INFINITY) },
  result: { column: "Result", value: ({ last }) => `${last?.phase ?? "~"} ${last?.class ?? ""}` },
};

/** The machines of the inventory that the query asks for, in its order. */
export function machinesOf(query: Query, { board, facts }: PageOptions): readonly ShownMachine[] {
  const machines = facts.machines().filter((name) => matches(query, name));
  const shown = machines.map((name) => shownMachine(name, board)).filter((one) => isIn(one, query.state));
  return sorted(shown, query, MACHINE_KEYS);
}

export function machineList(query: Query, options: PageOptions): View {
  const nowMs = options.clock.monotonicMs();
  return listView(query, machinesOf(query, options), (machine) => machineRow(machine, nowMs), {
    name: "machines",
    title: "Machines",
    columns: MACHINE_COLUMNS,
    keys: MACHINE_KEYS,
    states: MACHINE_STATES,
    search: "Machine",
  });
}

const LANE_KEYS: SortKeys<LaneRecord> = {
  agent: { column: "Agent ID", value: ({ agentId }) => agentId },
  state: { column: "State", value: ({ state }) => LANE_STATES.indexOf(state) },
  since: { column: "Since", value: ({ sinceMs }) => -sinceMs },
};

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
    keys: LANE_KEYS,
    states: LANE_STATES,
    search: "Agent ID",
  });
}

interface ListOptions<T> {
  /** The table's ID and the page's path. */
  readonly name: string;
  readonly title: string;
  readonly columns: readonly string[];
  readonly keys: SortKeys<T>;
  readonly states: readonly string[];
  /** The label of the search form. */
  readonly search: string;
}

function listView<T>(query: Query, all: readonly T[], row: (one: T) => Row, options: ListOptions<T>): View {
  const { name, title, columns, keys, states, search } = options;
  const path = `/${name}`;
  const page = pageOf(sorted(all, query, keys), ROWS_PER_PAGE, query);
  const table = tablePart({
    id: name,
    heading: title,
    columns,
    count: page.all,
    rows: page.items.map(row),
    none: "None.",
    more: pager(path, query, page),
    sort: { path, query, keys },
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
