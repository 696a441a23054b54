import type { WorkflowProblem } from "../../../explain/workflow-review.ts";
import type { AgentIdCase } from "../../../machines/agent-id.ts";
import { settingsThatDiffer } from "../../shared/drift-seen.ts";
import type { MachineSourceFacts } from "../../shared/facts.ts";
import { ACTIVITY_MINUTES } from "../board/activity.ts";
import type { ActionRecord, Minute } from "../board/records.ts";
import { actionKind, stateText, timeText } from "./actions.ts";
import { agentKind } from "./agents.ts";
import { type Html, type HtmlValue, html } from "./html.ts";
import {
  DENSE_FROM,
  MACHINE_STATES,
  type MachineState,
  machineColumns,
  machineGrid,
  machineStates,
  machinesIn,
  type ShownMachine,
  shownMachines,
} from "./machines.ts";
import {
  actionMatches,
  addressOf,
  causeOf,
  collator,
  EMPTY_QUERY,
  generalReason,
  matches,
  type Page,
  pageOf,
  type Query,
  sorted,
} from "./query.ts";
import {
  type Block,
  block,
  inside,
  type Kind,
  pager,
  type Row,
  row,
  rowId,
  type Sources,
  searchForm,
  stateLinks,
  table,
  unknownText,
  type View,
} from "./view.ts";
import { fixLink, machineLink, NOTHING } from "./words.ts";

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
  const labelKeys = labelKeysOf(machines);
  const found = grouped(sorted(machinesIn(query, machines), query, machineColumns), query.group);
  const page = pageOf(found, MACHINES_PER_PAGE, query);
  return {
    status: 200,
    title: "Overview",
    blocks: [
      html`<h1 class="quiet">Overview</h1>`,
      block(
        [{ id: "counts", rows: countTiles(machines, sources) }],
        (tiles) => html`<ul class="counts" aria-label="Counts" data-section="counts">${tiles}</ul>`,
      ),
      failureTable(query, actions(board.failures()), nowMs),
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
      some(
        "workflows-wrong",
        "Workflows with problems",
        workflowProblemKind,
        facts.workflowProblems?.() ?? [],
        MOST_AGENTS,
        "",
      ),
      table({ id: "sources-failing", heading: "Machine sources with problems" }, sourceKind, broken, nowMs),
      chartsAndSearch(board.activity(), query, labelKeys.length > 0),
      unknownText(query, machineColumns) || html``,
      ...machineGrids(query, page, labelKeys),
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

/** Mistakes that are known before the first command of a Workflow, and reports that the server did not take over. */
const workflowProblemKind: Kind<WorkflowProblem> = {
  id: ({ workflow, task, action }) => rowId(`${workflow}/${task}/${action}`),
  columns: [
    { head: "Workflow", show: ({ workflow }) => workflow },
    { head: "Action", show: ({ task, action }) => `${task} / ${action}` },
    { head: "Problem", class: "reason", show: ({ reason }) => reason },
  ],
};

/** Failures with one class and cause: 62 BMCs that refuse a connection are one row. */
interface FailureGroup {
  readonly records: readonly [ActionRecord, ...ActionRecord[]];
}

function failureTable(query: Query, failures: readonly ActionRecord[], nowMs: number): Block {
  const byCause = Map.groupBy(failures, (record) => `${record.class ?? ""} ${causeOf(record)}`);
  const groups = [...byCause.values()]
    .flatMap(([first, ...rest]): readonly FailureGroup[] => (first ? [{ records: [first, ...rest] }] : []))
    .sort((a, b) => b.records.length - a.records.length);
  const href = addressOf("/actions", { ...query, state: "failed", page: 1 });
  const more = html`<p><a href="${href}">All ${failures.length} actions</a></p>`;
  const about = { id: "failures", heading: "Unresolved failures", count: failures.length };
  const hasMore = groups.length > MOST_FAILURES || groups.length < failures.length;
  return table({ ...about, ...(hasMore && { more }) }, failureKind, groups.slice(0, MOST_FAILURES), nowMs);
}

const NAMED_MACHINES = 3;

/** A group of one is shown as its action. */
const failureKind: Kind<FailureGroup> = {
  id: ({ records: [first] }) => first.action.key,
  columns: actionKind.columns.map(({ sort: _, ...column }) => ({
    ...column,
    show: ({ records }, nowMs) =>
      records.length === 1 ? column.show(records[0], nowMs) : GROUP_CELLS[column.head]?.(records, nowMs),
  })),
};

const GROUP_CELLS: Readonly<Record<string, (records: FailureGroup["records"], nowMs: number) => HtmlValue>> =
  {
    Action(records) {
      const [{ class: errorClass = "" }] = records;
      const query = { ...EMPTY_QUERY, state: "failed", class: errorClass, cause: causeOf(records[0]) };
      return html`<a href="${addressOf("/actions", query)}">${records.length} actions</a>`;
    },
    Machine(records) {
      const names = [...new Set(records.flatMap(({ machine }) => machine ?? []))];
      const left = names.length - NAMED_MACHINES;
      const links = names
        .slice(0, NAMED_MACHINES)
        .map((name, index) => [index > 0 && ", ", machineLink(name)]);
      return names.length === 0 ? NOTHING : html`${links}${left > 0 && ` and ${left} more`}`;
    },
    State: ([first]) => stateText(first),
    Workflow: () => NOTHING,
    Time: ([first], nowMs) => timeText(first, nowMs),
    Result: ([first]) => html`${generalReason(first)}${fixLink(first.class)}`,
  };

/** The keys of the machines' labels, the most frequent first. */
function labelKeysOf(machines: readonly ShownMachine[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { labels = {} } of machines) {
    for (const key of Object.keys(labels)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const keys = [...counts].sort(([a, most], [b, other]) => other - most || (a < b ? -1 : 1));
  return keys.slice(0, MOST_KEYS).map(([key]) => key);
}

const MOST_KEYS = 8;

/** Machines with the same value of a label beside each other; those without the label are last. */
function grouped(machines: readonly ShownMachine[], key: string): readonly ShownMachine[] {
  if (key === "") return machines;
  const groups = [...Map.groupBy(machines, ({ labels }) => labels?.[key])];
  groups.sort(([a], [b]) => (a === undefined ? 1 : b === undefined ? -1 : collator.compare(a, b)));
  return groups.flatMap(([, members]) => members);
}

/** All machines as one grid, or one grid for each value of a label. */
function machineGrids(
  query: Query,
  page: Page<ShownMachine>,
  labelKeys: readonly string[],
): readonly Block[] {
  const { group } = query;
  const dense = page.items.length >= DENSE_FROM;
  const about = {
    id: "machines",
    heading: "Machines",
    count: page.all,
    none: "None.",
    more: pager("/", query, page, "#machines"),
    controls: html`${stateLinks("/", query, machineStates, stateLabel)}${groupLinks(query, labelKeys)}${sortLinks(query)}`,
  };
  if (group === "") return [machineGrid(about, page.items, dense)];
  const groups = Map.groupBy(page.items, ({ labels }) => labels?.[group]);
  return [
    machineGrid({ ...about, none: page.all === 0 ? about.none : undefined }, [], dense),
    inside(
      "parts",
      [...groups].map(([value, members]) =>
        machineGrid(
          {
            id: `machines-${rowId(value ?? "")}${value === undefined ? "-without" : ""}`,
            heading: value === undefined ? `Without ${group}` : `${group} ${value}`,
            count: members.length,
            part: dense && members.length <= MOST_IN_NARROW ? "narrow" : "wide",
          },
          members,
          dense,
        ),
      ),
    ),
  ];
}

/** A rack is a narrow block, so that several are beside each other. */
const MOST_IN_NARROW = 60;

function groupLinks(query: Query, keys: readonly string[]): Html | false {
  if (keys.length === 0) return false;
  const links = ["", ...keys].map((group) => {
    const current = group === query.group && html` aria-current="true"`;
    return html`<a href="${addressOf("/", { ...query, group, page: 1 })}#machines"${current}>${group === "" ? "none" : group}</a>`;
  });
  const isUnknown = query.group !== "" && !keys.includes(query.group);
  const unknown = isUnknown && html` <span class="mistake">no machine has the label ${query.group}</span>`;
  return html`<nav class="states" aria-label="Group"><span class="dim">Group by</span> ${links}${unknown}</nav>`;
}

/** The label of a state, which is also the key of the grid. */
function stateLabel(state: string): Html {
  return html`<b class="key ${state}" aria-hidden="true">${MACHINE_STATES[state as MachineState]}</b>${state}`;
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
  const noun = (number: number, one: string) => (number === 1 ? one : `${one}s`);
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
    tile("failing", `${noun(failing, "agent ID")} without an answer`, failing, "#agents-failing", true),
    ...(machineDrift
      ? [
          tile(
            "drifted",
            `${drifted.length === 1 ? "differs" : "differ"} from the desired state`,
            drifted.length,
            "/machines",
            true,
          ),
        ]
      : []),
    tile("running", `running, of ${facts.slots().limit}`, active.length - waiting, "/actions?state=running"),
    tile("waiting", "waiting", waiting, "/actions?state=waiting"),
    tile("agents", noun(board.agents().length, "agent ID"), board.agents().length, "/agent-ids"),
    tile("machines", noun(machines.length, "machine"), machines.length, "/machines"),
    ...(machines.some(({ paused }) => paused) ? [power("paused")] : []),
    power("on"),
    power("off"),
    power("unknown", "power unknown"),
  ];
}

function chartsAndSearch(minutes: readonly Minute[], query: Query, hasLabels: boolean): Block {
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
${searchForm("/", query, "Machine, action, workflow or agent ID", hasLabels)}
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
