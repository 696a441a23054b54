import type { PageOptions } from "../board/page-options.ts";
import { isEnded } from "../board/shown-action.ts";
import { html } from "./html.ts";
import { isIn, MACHINE_STATES, type ShownMachine, shownMachine } from "./machine-states.ts";
import { pager, renderTable, searchForm, sectionsOf, stateLinks, tablePart } from "./parts.ts";
import { actionMatches, matches, pageOf, type Query, sorted } from "./query.ts";
import { actionKind, LANE_STATES, laneKind, machineKind } from "./rows.ts";
import type { RowKind } from "./table-row.ts";
import type { View } from "./view.ts";

const ROWS_PER_PAGE = 100;
const ACTION_STATES = ["waiting", "running", "ended", "succeeded", "failed"];

/** All kept actions: those in flight first, then ended ones, newest first. */
export function actionList(query: Query, { board, clock }: PageOptions): View {
  const { state } = query;
  const records = [...board.active(), ...board.ended()].filter(
    (record) =>
      actionMatches(query, record) &&
      (state === "" || record.phase === state || (state === "ended" && isEnded(record))),
  );
  return listView(query, records, clock.monotonicMs(), {
    ...{ name: "actions", title: "Actions", kind: actionKind, states: ACTION_STATES },
    search: "Machine, action, workflow or agent ID",
  });
}

/** The machines of the inventory that the query asks for, in its order. */
export function machinesOf(query: Query, { board, facts }: PageOptions): readonly ShownMachine[] {
  const machines = facts.machines().filter((name) => matches(query, name));
  const shown = machines.map((name) => shownMachine(name, board)).filter((one) => isIn(one, query.state));
  return sorted(shown, query, machineKind.columns);
}

export function machineList(query: Query, options: PageOptions): View {
  return listView(query, machinesOf(query, options), options.clock.monotonicMs(), {
    ...{ name: "machines", title: "Machines", kind: machineKind, states: MACHINE_STATES },
    search: "Machine",
  });
}

/** All lanes, failing ones first. */
export function laneList(query: Query, { board, clock }: PageOptions): View {
  const rank = (state: string) => LANE_STATES.indexOf(state);
  const lanes = board
    .lanes()
    .filter(({ agentId, state }) => matches(query, agentId) && (query.state === "" || state === query.state))
    .sort((a, b) => rank(a.state) - rank(b.state));
  return listView(query, lanes, clock.monotonicMs(), {
    ...{ name: "lanes", title: "Lanes", kind: laneKind, states: LANE_STATES },
    search: "Agent ID",
  });
}

interface ListOptions<T> {
  /** The table's ID and the page's path. */
  readonly name: string;
  readonly title: string;
  readonly kind: RowKind<T>;
  readonly states: readonly string[];
  /** The label of the search form. */
  readonly search: string;
}

function listView<T>(query: Query, all: readonly T[], nowMs: number, options: ListOptions<T>): View {
  const { name, title, kind, states, search } = options;
  const path = `/${name}`;
  const page = pageOf(sorted(all, query, kind.columns), ROWS_PER_PAGE, query);
  const table = tablePart({
    ...{ id: name, heading: title, kind, items: page.items, nowMs, count: page.all },
    none: "None.",
    more: pager(path, query, page),
    sort: { path, query },
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
