import type { AgentIdCase } from "../../../machines/agent-id.ts";
import { settingsThatDiffer } from "../../shared/drift-seen.ts";
import type { MachineSourceFacts } from "../../shared/facts.ts";
import { ACTIVITY_MINUTES } from "../board/activity.ts";
import type { ActionRecord, Minute } from "../board/records.ts";
import { actionKind } from "./actions.ts";
import { agentKind } from "./agents.ts";
import { type Html, html } from "./html.ts";
import {
  MACHINE_STATES,
  type MachineState,
  machineColumns,
  machineGrid,
  machineStates,
  machinesIn,
  type ShownMachine,
  shownMachines,
} from "./machines.ts";
import { actionMatches, addressOf, matches, pageOf, type Query, sorted } from "./query.ts";
import {
  type Block,
  block,
  type Kind,
  pager,
  type Row,
  row,
  rowId,
  type Sources,
  searchForm,
  stateLinks,
  table,
  type View,
} from "./view.ts";

const MACHINES_PER_PAGE = 3_000;
const MOST_FAILURES = 5;
const MOST_AGENTS = 4;
const MOST_IN_FLIGHT = 4;

/** The first page: counts, problems, all machines at a glance, current actions. */
export function overview(query: Query, sources: Sources): View {
  const { board, facts, clock } = sources;
  const nowMs = clock.monotonicMs();
  const { sources: machineSources = [], agentIdsInOtherCase } = facts.cluster?.() ?? {};
  const machines = shownMachines(facts.machines(), sources);

  /** The first items of a list, with a link to all. */
  function some<T>(
    id: string,
    heading: string,
    kind: Kind<T>,
    items: readonly T[],
    most: number,
    all: string,
  ) {
    const [path = "", state = ""] = all.split("#");
    const href = addressOf(path, { ...query, state, page: 1 });
    const more = html`<p><a href="${href}">All ${items.length} ${path === "/actions" ? "actions" : "agent IDs"}</a></p>`;
    const about = { id, heading, count: items.length, ...(items.length > most && path && { more }) };
    return table(about, kind, items.slice(0, most), nowMs);
  }

  const actions = (records: readonly ActionRecord[]) => records.filter((one) => actionMatches(query, one));
  const failing = board.agents().filter((one) => one.state === "failing" && matches(query, one.agentId));
  const inFlight = Object.values(
    Object.groupBy(board.active(), ({ phase }) => (phase === "running" ? 0 : 1)),
  ).flat();
  const broken = machineSources.filter(({ problems }) => problems.length > 0);
  const page = pageOf(sorted(machinesIn(query, machines), query, machineColumns), MACHINES_PER_PAGE, query);
  return {
    status: 200,
    title: "Overview",
    blocks: [
      html`<h1 class="quiet">Overview</h1>`,
      block(
        [{ id: "counts", rows: countTiles(machines, sources) }],
        (tiles) => html`<ul class="counts" aria-label="Counts" data-section="counts">${tiles}</ul>`,
      ),
      some(
        "failures",
        "Unresolved failures",
        actionKind,
        actions(board.failures()),
        MOST_FAILURES,
        "/actions#failed",
      ),
      some(
        "agents-failing",
        "Agent IDs without an answer",
        agentKind,
        failing,
        MOST_AGENTS,
        "/agent-ids#failing",
      ),
      some(
        "agents-misnamed",
        "Agent IDs that a Workflow names in another case",
        agentCaseKind,
        agentIdsInOtherCase?.() ?? [],
        MOST_AGENTS,
        "",
      ),
      table({ id: "sources-failing", heading: "Machine sources with problems" }, sourceKind, broken, nowMs),
      chartsAndSearch(board.activity(), query),
      machineGrid(
        {
          id: "machines",
          heading: "Machines",
          count: page.all,
          none: "None.",
          more: pager("/", query, page, "#machines"),
          controls: html`${stateLinks("/", query, machineStates, stateLabel)}${sortLinks(query)}`,
        },
        page.items,
      ),
      some("in-flight", "Running and waiting", actionKind, actions(inFlight), MOST_IN_FLIGHT, "/actions"),
    ],
  };
}

/** The machines of the sources, as they were last seen. */
const sourceKind: Kind<MachineSourceFacts> = {
  id: ({ name }) => rowId(name),
  columns: [
    { head: "Source", show: ({ name }) => name },
    { head: "Machines, last seen", show: ({ machines }) => machines },
    { head: "Problem", class: "reason", show: ({ problems }) => problems.join("; ") },
  ],
};

/** The tink server compares agent IDs exactly, so these Workflows wait for an agent that no worker polls for. */
const agentCaseKind: Kind<AgentIdCase> = {
  id: ({ named }) => rowId(named),
  columns: [
    { head: "Named by a Workflow", show: ({ named }) => named },
    { head: "This worker's agent ID", show: ({ polled }) => polled },
  ],
};

/** The label of a state, which is also the key of the grid. */
function stateLabel(state: string): Html {
  return html`<b class="key ${state}" aria-hidden="true">${MACHINE_STATES[state as MachineState]}</b> ${state}`;
}

function sortLinks(query: Query): Html {
  const links = Object.entries({ "": "inventory", name: "name", state: "urgency" }).map(([sort, label]) => {
    const current = sort === query.sort && html` aria-current="true"`;
    return html`<a href="${addressOf("/", { ...query, sort, page: 1 })}#machines"${current}>${label}</a>`;
  });
  return html`<nav class="states order" aria-label="Order"><span class="dim">Order</span> ${links} <a href="/machines">Table</a></nav>`;
}

/** Counts that link to the machines or actions that they count. */
function countTiles(machines: readonly ShownMachine[], { board, facts }: Sources): readonly Row[] {
  const tile = (id: string, label: string, count: number, href: string, isBad = false) =>
    row(
      id,
      html`<li data-row="${id}" class="${isBad && count > 0 && "bad"}"><a href="${href}"><b>${count}</b> <span>${label}</span></a></li>`,
    );
  const power = (state: MachineState, label: string = state) =>
    tile(state, label, machines.filter(({ states }) => states.includes(state)).length, `/?state=${state}`);
  const active = board.active();
  const waiting = active.filter(({ phase }) => phase === "waiting").length;
  const failing = board.agents().filter(({ state }) => state === "failing").length;
  const { machineDrift } = facts;
  const drifted = machines.filter(({ name }) => {
    const seen = machineDrift?.(name);
    return seen !== undefined && settingsThatDiffer(seen).length > 0;
  });
  return [
    tile("failed", "failed", board.failures().length, "#failures", true),
    tile("failing", "agent IDs without an answer", failing, "#agents-failing", true),
    ...(machineDrift
      ? [tile("drifted", "differ from the desired state", drifted.length, "/machines", true)]
      : []),
    tile("running", `running, of ${facts.slots().limit}`, active.length - waiting, "/actions?state=running"),
    tile("waiting", "waiting", waiting, "/actions?state=waiting"),
    tile("agents", "agent IDs", board.agents().length, "/agent-ids"),
    tile("machines", "machines", machines.length, "/machines"),
    ...(machines.some(({ paused }) => paused) ? [power("paused")] : []),
    power("on"),
    power("off"),
    power("unknown", "power unknown"),
  ];
}

function chartsAndSearch(minutes: readonly Minute[], query: Query): Block {
  const sum = (of: (minute: Minute) => number) => minutes.reduce((all, minute) => all + of(minute), 0);
  const most = (of: (minute: Minute) => number) => Math.max(...minutes.map(of));
  const [succeeded, failed] = [sum((minute) => minute.succeeded), sum((minute) => minute.failed)];
  const busiest = most((minute) => minute.succeeded + minute.failed);
  const queue = most((minute) => minute.waiting);
  const ended = `${succeeded + failed} in the last hour, ${failed} failed, at most ${busiest}`;
  const rows = [
    chart("throughput", "Ended per minute", ended, [
      bars("failed", minutes, busiest, (minute) => [0, minute.failed]),
      bars("succeeded", minutes, busiest, (minute) => [minute.failed, minute.succeeded]),
    ]),
    chart("queue", "Waiting", `at most ${queue} at once in the last hour`, [
      bars("waiting", minutes, queue, (minute) => [0, minute.waiting]),
    ]),
  ];
  return block(
    [{ id: "charts", rows }],
    (charts) => html`<div class="top">
<div class="charts" data-section="charts">${charts}</div>
${searchForm("/", query, "Machine, action, workflow or agent ID")}
</div>`,
  );
}

const BAR = 5;
const STEP = 6;
const HEIGHT = 40;

/** A small chart of the last hour, one bar per minute. */
function chart(id: string, title: string, text: string, series: readonly Html[]): Row {
  const width = ACTIVITY_MINUTES * STEP;
  return row(
    id,
    html`<figure data-row="${id}"><figcaption><b>${title}</b> <span class="dim">${text}</span></figcaption>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path class="ground" d="M0 ${HEIGHT}h${width}"/>${series}</svg></figure>`,
  );
}

/** The bars of a chart, from one height to another, in the unit of `highest`. */
function bars(
  kind: string,
  minutes: readonly Minute[],
  highest: number,
  of: (minute: Minute) => readonly [from: number, height: number],
): Html {
  const scale = (value: number) => Math.round((10 * value * HEIGHT) / Math.max(1, highest)) / 10;
  const path = minutes.map((minute, index) => {
    const [from, height] = of(minute);
    return (
      height > 0 && `M${index * STEP} ${HEIGHT - scale(from)}v${-scale(height)}h${BAR}v${scale(height)}z`
    );
  });
  return html`<path class="${kind}" d="${path}"/>`;
}
