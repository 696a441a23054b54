import { settingsThatDiffer } from "../../../core/action/drift-seen.ts";
import type { AgentIdCase, MachineSourceFacts } from "../../../core/action/observer.ts";
import type { LaneRecord } from "../board/lane-records.ts";
import type { PageOptions } from "../board/page-options.ts";
import type { ActionRecord } from "../board/shown-action.ts";
import { chartSection } from "./charts.ts";
import { type Html, html } from "./html.ts";
import { machinesOf } from "./lists.ts";
import { machineGrid, renderGrid } from "./machine-grid.ts";
import { isIn, MACHINE_STATES, type MachineState, STATE_LETTERS, shownMachine } from "./machine-states.ts";
import { allLink, pager, renderTable, searchForm, sectionsOf, stateLinks, tablePart } from "./parts.ts";
import { actionMatches, addressOf, matches, pageOf, type Query } from "./query.ts";
import { actionKind, agentCaseKind, laneKind, sourceKind, tile } from "./rows.ts";
import { renderRows, type Section, type View } from "./view.ts";

const MACHINES_PER_PAGE = 3_000;
const MOST_FAILURES = 5;
const MOST_LANES = 4;
const MOST_IN_FLIGHT = 5;

/** The first page, which fits one screen: counts, problems, all machines at a glance, current actions. */
export function overview(query: Query, options: PageOptions): View {
  const { board, clock } = options;
  const nowMs = clock.monotonicMs();
  const counts: Section = { id: "counts", rows: countTiles(options) };
  const charts = chartSection(board.activity());
  const actions = (
    id: string,
    heading: string,
    records: readonly ActionRecord[],
    most: number,
    all: string,
  ) => {
    const found = records.filter((record) => actionMatches(query, record));
    return tablePart({
      ...{ id, heading, kind: actionKind, items: found.slice(0, most), nowMs, count: found.length },
      more: allLink(found.length, most, addressOf("/actions", { ...query, state: all, page: 1 }), "actions"),
    });
  };
  const failures = actions("failures", "Unresolved failures", board.failures(), MOST_FAILURES, "failed");
  const failing = failingLanes(board.lanes(), query, nowMs);
  const sources = failingSources(options.facts.cluster?.().sources ?? [], nowMs);
  const misnamed = misnamedAgents(options.facts.cluster?.().agentIdsInOtherCase?.() ?? [], nowMs);
  const page = pageOf(machinesOf(query, options), MACHINES_PER_PAGE, query);
  const grid = machineGrid(page.items, page.all, pager("/", query, page, "#machines"));
  const inFlight = board.active().toSorted((a, b) => rank(a) - rank(b));
  const current = actions("at-hand", "Running and waiting", inFlight, MOST_IN_FLIGHT, "");
  return {
    status: 200,
    title: "Overview",
    sections: [
      ...[
        counts,
        charts,
        ...sectionsOf([failures, failing, misnamed, sources]),
        grid.count,
        grid.cells,
        grid.more,
      ],
      ...sectionsOf([current]),
    ],
    render: () => html`<h1 class="quiet">Overview</h1>
<ul class="counts" aria-label="Counts" data-section="counts">${renderRows(counts)}</ul>
<div class="top">
<div class="charts" data-section="charts">${renderRows(charts)}</div>
${searchForm("/", query, "Machine, action, workflow or agent ID")}
</div>
${renderTable(failures)}
${renderTable(failing)}
${renderTable(misnamed)}
${renderTable(sources)}
${renderGrid(grid, html`${stateLinks("/", query, MACHINE_STATES, stateLabel)}${sortLinks(query)}`)}
${renderTable(current)}`,
  };
}

const rank = ({ phase }: ActionRecord) => (phase === "running" ? 0 : 1);

function failingLanes(lanes: readonly LaneRecord[], query: Query, nowMs: number) {
  const failing = lanes.filter(({ state, agentId }) => state === "failing" && matches(query, agentId));
  return tablePart({
    id: "lanes-failing",
    heading: "Lanes without an answer",
    ...{ kind: laneKind, items: failing.slice(0, MOST_LANES), nowMs, count: failing.length },
    more: allLink(
      failing.length,
      MOST_LANES,
      addressOf("/lanes", { ...query, state: "failing", page: 1 }),
      "lanes",
    ),
  });
}

/** The tink server compares agent IDs exactly: these Workflows wait for an agent that no worker is. */
function misnamedAgents(agentIds: readonly AgentIdCase[], nowMs: number) {
  return tablePart({
    id: "agents-misnamed",
    heading: "Agent IDs that a Workflow names in another case",
    ...{ kind: agentCaseKind, items: agentIds.slice(0, MOST_LANES), nowMs, count: agentIds.length },
  });
}

/** Their machines are those that were last seen. */
function failingSources(sources: readonly MachineSourceFacts[], nowMs: number) {
  const items = sources.filter(({ problems }) => problems.length > 0);
  return tablePart({
    id: "sources-failing",
    heading: "Machine sources with problems",
    kind: sourceKind,
    items,
    nowMs,
  });
}

/** The filter is the key of the grid, too. */
function stateLabel(state: string): Html {
  return html`<b class="key ${state}" aria-hidden="true">${STATE_LETTERS[state as MachineState]}</b> ${state}`;
}

function sortLinks(query: Query): Html {
  const links = [
    ["", "inventory"],
    ["name", "name"],
    ["state", "urgency"],
  ].map(([sort = "", label]) => {
    const current = sort === query.sort && html` aria-current="true"`;
    return html`<a href="${addressOf("/", { ...query, sort, page: 1 })}#machines"${current}>${label}</a>`;
  });
  return html`<nav class="states order" aria-label="Order"><span class="dim">Order</span> ${links} <a href="/machines">Table</a></nav>`;
}

function countTiles({ board, facts }: PageOptions) {
  const number = <T>(all: readonly T[], fits: (one: T) => boolean) => all.filter(fits).length;
  const active = board.active();
  const lanes = board.lanes();
  const machines = facts.machines().map((name) => shownMachine(name, board));
  const waiting = number(active, ({ phase }) => phase === "waiting");
  const power = (state: string) => number(machines, (machine) => isIn(machine, state));
  const failed = board.failures().length;
  const failing = number(lanes, ({ state }) => state === "failing");
  const drifted = number(machines, ({ name }) => {
    const seen = facts.machineDrift?.(name);
    return seen !== undefined && settingsThatDiffer(seen).length > 0;
  });
  return [
    tile("failed", "failed", failed, "#failures", failed > 0),
    tile("failing", "lanes without an answer", failing, "#lanes-failing", failing > 0),
    ...(facts.machineDrift
      ? [tile("drifted", "differ from the desired state", drifted, "/machines", drifted > 0)]
      : []),
    tile("running", `running, of ${facts.slots().limit}`, active.length - waiting, "/actions?state=running"),
    tile("waiting", "waiting", waiting, "/actions?state=waiting"),
    tile("lanes", "lanes", lanes.length, "/lanes"),
    tile("machines", "machines", machines.length, "/machines"),
    tile("on", "on", power("on"), "/?state=on"),
    tile("off", "off", power("off"), "/?state=off"),
    tile("unknown", "power unknown", power("unknown"), "/?state=unknown"),
  ];
}
