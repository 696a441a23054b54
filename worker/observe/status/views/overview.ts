import { type ActionRecord, isEnded } from "../board/action-record.ts";
import type { LaneRecord, MachineRecord } from "../board/board.ts";
import type { PageOptions } from "../board/page-options.ts";
import { html } from "./html.ts";
import {
  allLink,
  pager,
  renderTable,
  searchForm,
  sectionsOf,
  stateLinks,
  type TablePart,
  tablePart,
} from "./parts.ts";
import { actionMatches, addressOf, matches, pageOf, type Query } from "./query.ts";
import {
  ACTION_COLUMNS,
  actionRow,
  LANE_COLUMNS,
  laneRow,
  MACHINE_COLUMNS,
  machineRow,
  tile,
} from "./rows.ts";
import { renderRows, type Section, type View } from "./view.ts";

const MACHINES_PER_PAGE = 100;
const MOST_URGENT = 25;
const MOST_RUNNING = 50;
const MOST_RECENT = 25;
const POWER_STATES = ["on", "off", "unknown"];

/** The first page: problems first, then current actions, then everything. */
export function overview(query: Query, { board, facts, clock }: PageOptions): View {
  const nowMs = clock.monotonicMs();
  const active = board.active();
  const failures = board.failures();
  const lanes = board.lanes();
  const machines = facts.machines().map((name) => ({ name, record: board.machine(name) }));
  const records = machines.map(({ record }) => record);
  const tiles = countTiles({ active, failures, lanes, machines: records }, facts.slots().limit);
  const counts: Section = { id: "counts", rows: tiles };
  const found = {
    failures: failures.filter((record) => actionMatches(query, record)),
    failing: lanes.filter(({ state, agentId }) => state === "failing" && matches(query, agentId)),
    running: active.filter((record) => record.phase === "running" && actionMatches(query, record)),
    waiting: active.filter((record) => record.phase === "waiting" && actionMatches(query, record)),
    recent: board.ended().filter((record) => actionMatches(query, record)),
    machines: machines.filter(
      ({ name, record }) => matches(query, name) && isPower(query.state, record?.power?.state),
    ),
  };
  const list = (path: string, state: string) => addressOf(path, { ...query, state, page: 1 });
  const actions = (
    [id, heading, state = id]: readonly [string, string, string?],
    records: readonly ActionRecord[],
    most: number,
    none: string,
  ) =>
    tablePart({
      id,
      heading,
      columns: ACTION_COLUMNS,
      count: records.length,
      rows: records.slice(0, most).map((record) => actionRow(record, nowMs)),
      none,
      more: allLink(records.length, most, list("/actions", state), "actions"),
    });
  const failing = tablePart({
    id: "lanes-failing",
    heading: "Lanes without an answer",
    columns: LANE_COLUMNS,
    rows: found.failing.slice(0, MOST_URGENT).map((lane) => laneRow(lane, nowMs)),
    none: "The server answers every lane.",
    count: found.failing.length,
    more: allLink(found.failing.length, MOST_URGENT, list("/lanes", "failing"), "lanes"),
  });
  const page = pageOf(found.machines, MACHINES_PER_PAGE, query);
  const machineTable = tablePart({
    id: "machines",
    heading: "Machines",
    columns: MACHINE_COLUMNS,
    count: page.all,
    rows: page.items.map(({ name, record }) => machineRow(name, record, (key) => board.find(key), nowMs)),
    none: machines.length === 0 ? "The inventory has none." : "No matches.",
    more: pager("/", query, page, "#machines"),
  });
  const parts: readonly TablePart[] = [
    actions(["failures", "Unresolved failures", "failed"], found.failures, MOST_URGENT, "Nothing."),
    failing,
    actions(["running", "Running"], found.running, MOST_RUNNING, "Nothing runs."),
    actions(["waiting", "Waiting"], found.waiting, MOST_RECENT, "Nothing waits."),
    machineTable,
    actions(["recent", "Ended", "ended"], found.recent, MOST_RECENT, "Nothing has ended yet."),
  ];
  return {
    status: 200,
    title: "Overview",
    sections: [counts, ...sectionsOf(parts)],
    render: () => html`<h1 class="quiet">Overview</h1>
<ul class="counts" aria-label="Counts" data-section="counts">${renderRows(counts)}</ul>
${searchForm("/", query, "Machine, action, workflow or agent ID")}
${parts.map((part) =>
  part === machineTable
    ? html`<div class="beside">${stateLinks("/", query, POWER_STATES)}</div>${renderTable(part)}`
    : renderTable(part),
)}`,
  };
}

/** A power state that was never read counts as unknown. */
function isPower(wanted: string, state: string | undefined): boolean {
  return wanted === "" || (state ?? "unknown") === wanted;
}

function countTiles(
  seen: {
    readonly active: readonly ActionRecord[];
    readonly failures: readonly ActionRecord[];
    readonly lanes: readonly LaneRecord[];
    readonly machines: readonly (MachineRecord | undefined)[];
  },
  slots: number,
) {
  const number = <T>(all: readonly T[], fits: (one: T) => boolean) => all.filter(fits).length;
  const waiting = number(seen.active, (record) => !isEnded(record) && record.phase === "waiting");
  const lanes = (state: string) => number(seen.lanes, (lane) => lane.state === state);
  const power = (state: string) => number(seen.machines, (machine) => isPower(state, machine?.power?.state));
  const failed = seen.failures.length;
  const failing = lanes("failing");
  return [
    tile("failed", "failed", failed, "#failures", failed > 0),
    tile("failing", "lanes without an answer", failing, "#lanes-failing", failing > 0),
    tile("running", `running, of ${slots}`, seen.active.length - waiting, "#running"),
    tile("waiting", "waiting", waiting, "#waiting"),
    tile("lanes", "lanes", seen.lanes.length, "/lanes"),
    tile("machines", "machines", seen.machines.length, "#machines"),
    tile("on", "on", power("on"), "/?state=on#machines"),
    tile("off", "off", power("off"), "/?state=off#machines"),
    tile("unknown", "power not known", power("unknown"), "/?state=unknown#machines"),
  ];
}
