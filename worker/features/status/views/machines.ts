import { count } from "../../../../shared/count.ts";
import type { Pause } from "../../../core/action/machine-facts.ts";
import { type Labels, Selector } from "../../../document/labels.ts";
import type { Difference } from "../../shared/drift-seen.ts";
import type { ActionRecord, Failure, MachineRecord, PowerReading } from "../board/records.ts";
import { actionKind, actionLink, progressNote, resultText, stateText, timeText } from "./actions.ts";
import { type Html, html } from "./html.ts";
import { matches, type Query } from "./query.ts";
import {
  type Block,
  block,
  facts,
  type Kind,
  list,
  listPage,
  type MaybeFact,
  row,
  rowId,
  type Sources,
  table,
  type View,
} from "./view.ts";
import { badge, fixLink, machineLink, moment, NOTHING, tickingTime } from "./words.ts";

/** The states, the most urgent first. Each has a letter and a colour. */
export const MACHINE_STATES = {
  failed: "F",
  running: "R",
  waiting: "W",
  paused: "P",
  on: "I",
  off: "O",
  unknown: "?",
};
export type MachineState = keyof typeof MACHINE_STATES;
export const machineStates = Object.keys(MACHINE_STATES) as readonly MachineState[];

/** A machine of the inventory with the board's facts about it. */
export interface ShownMachine {
  readonly name: string;
  readonly record: MachineRecord | undefined;
  /** Waiting and running actions, in order of arrival. */
  readonly inFlight: readonly ActionRecord[];
  readonly last: ActionRecord | undefined;
  /** Set while the machine is out of service. */
  readonly paused: Pause | undefined;
  readonly labels: Labels | undefined;
  /** All of its states, the most urgent first. */
  readonly states: readonly MachineState[];
}

export function shownMachines(
  names: readonly string[],
  { board, facts }: Pick<Sources, "board" | "facts">,
): readonly ShownMachine[] {
  const active = Map.groupBy(board.active(), ({ machine }) => machine);
  return names.map((name) => {
    const record = board.machine(name);
    const inFlight = active.get(name) ?? [];
    const last = record?.last === undefined ? undefined : board.find(record.last);
    const paused = facts.machinePause?.(name);
    // A power state that was never read counts as unknown.
    const all = new Set([
      last?.phase,
      ...inFlight.map(({ phase }) => phase),
      paused && "paused",
      record?.power?.state ?? "unknown",
    ]);
    const labels = facts.machineLabels?.(name);
    const states = machineStates.filter((state) => all.has(state));
    return { name, record, inFlight, last, paused, labels, states };
  });
}

const machineKind: Kind<ShownMachine> = {
  id: ({ name }) => rowId(name),
  columns: [
    { head: "Machine", sort: ["name", ({ name }) => name], show: ({ name }) => machineLink(name) },
    {
      head: "Power",
      sort: ["power", ({ record }) => record?.power?.state ?? "unknown"],
      show: ({ record }, nowMs) => powerText(record, nowMs),
    },
    {
      head: "Now",
      sort: ["state", ({ states: [state = "unknown"] }) => machineStates.indexOf(state)],
      show: (machine, nowMs) => nowText(machine, nowMs),
    },
    {
      head: "Last action",
      sort: ["ended", ({ last }) => -(last?.sinceMs ?? Number.NEGATIVE_INFINITY)],
      show: ({ last }, nowMs) =>
        last ? html`${actionLink(last)} ${agoText(last.sinceMs, nowMs, last.stoppedAt)}` : NOTHING,
    },
    {
      head: "Result",
      class: "reason",
      sort: ["result", ({ last }) => `${last?.phase ?? "~"} ${last?.class ?? ""}`],
      show: ({ last }, nowMs) => (last ? html`${stateText(last)} ${resultText(last, nowMs)}` : NOTHING),
    },
  ],
};

/** The machines that match the query, in the inventory's order; none for an invalid selector. */
export function machinesIn(query: Query, machines: readonly ShownMachine[]): readonly ShownMachine[] {
  const selector = query.selector === "" ? EVERY : Selector.parse(query.selector);
  return machines.filter(
    ({ name, labels, states }) =>
      matches(query, name) &&
      (query.state === "" || states.some((state) => state === query.state)) &&
      (selector?.matches(labels) ?? false),
  );
}

const EVERY: Pick<Selector, "matches"> = { matches: () => true };

export const machineColumns = machineKind.columns;

export function machineList(query: Query, sources: Sources): View {
  const { facts: worker, clock } = sources;
  const all = shownMachines(worker.machines(), sources);
  const hasLabels = all.some(({ labels }) => labels !== undefined);
  const about = {
    path: "/machines",
    heading: "Machines",
    states: machineStates,
    search: "Machine",
    hasLabels,
  };
  const machines = machinesIn(query, all);
  return listPage(about, machineKind, machines, query, clock.monotonicMs());
}

/** With at least this many machines, cells contain only the letter. */
export const DENSE_FROM = 200;

/** One cell per machine: a letter and a colour for its most urgent state. */
export function machineGrid(
  about: Parameters<typeof list>[0],
  machines: readonly ShownMachine[],
  isDense: boolean,
): Block {
  const dense = isDense && " dense";
  const rows = machines.map(({ name, record, last, paused, states: [state = "unknown"] }) => {
    const failed = state === "failed" && last?.class !== undefined && ` (${last.class})`;
    const why = state === "paused" && paused && ` (${paused.reason})`;
    const power = record?.power && state !== record.power.state && `, ${record.power.state}`;
    const id = rowId(name);
    const cell = () =>
      html`<li data-row="${id}"><a class="${state}" href="/machines/${id}" title="${name}: ${state}${failed}${why}${power}"><b>${MACHINE_STATES[state]}</b> <span>${name}</span></a></li>`;
    // There may be thousands of cells, so only changed ones are rendered.
    return { id, version: `${state}${failed}${why}${power}`, render: cell };
  });
  return list(
    about,
    rows,
    (cells) =>
      html`<ul class="grid${dense}" aria-labelledby="${about.id}-heading" data-section="${about.id}">${cells}</ul>`,
  );
}

/** One machine with its facts, actions, failures and power. Undefined for an unknown machine. */
export function machineView(name: string, sources: Sources): View | undefined {
  const { board, facts: worker, clock } = sources;
  const [machine] = shownMachines([name], sources);
  const isListed = worker.machines().includes(name);
  if (!machine || (!machine.record && machine.inFlight.length === 0 && !isListed)) return undefined;
  const nowMs = clock.monotonicMs();
  const { record, inFlight, last } = machine;
  const { failures = [], powerChanges = [], known } = record ?? {};
  const old = failures.filter(({ key }) => !board.find(key)).map((failure) => oldRecord(failure, name));
  const ended = [...board.ended().filter((one) => one.machine === name), ...old];
  const differences = worker.machineDrift?.(name)?.differences ?? [];
  const readings = powerChanges.map((reading, index) => ({
    ...reading,
    number: powerChanges.length - index,
  }));
  const none = "No ended action is kept.";
  return {
    status: 200,
    title: name,
    blocks: [
      html`<h1><span class="kind">Machine</span> ${name}</h1>`,
      lastFailure(failures[0], last?.phase === "failed", nowMs),
      facts("machine", [
        !isListed && ["Inventory", "no longer has this machine"],
        machine.labels && ["Labels", labelsText(machine.labels)],
        machine.paused && ["Out of service", html`${badge("paused")} ${pauseText(machine.paused)}`],
        ["Power, last seen", powerText(record, nowMs)],
        record?.power && ["Read by", html`${record.power.by} at ${moment(record.power.at)}`],
        ...inventoryFacts(name, sources),
        ...Object.entries(FACTS).map(
          ([key, label]) => [label, known?.facts[key as keyof typeof FACTS]] as const,
        ),
        ...driftFacts(name, sources),
        known && ["Details, last read by", html`${known.by} at ${moment(known.at)}`],
      ]),
      table({ id: "drift", heading: "Desired state" }, driftKind, differences, nowMs),
      table({ id: "in-flight", heading: "Running and waiting" }, ownKind, inFlight, nowMs),
      table({ id: "ended", heading: "Ended", none }, ownKind, ended, nowMs),
      table({ id: "power", heading: "Power history" }, powerKind, readings, nowMs),
    ],
  };
}

/** The table of actions on the page's machine. */
const ownKind = { ...actionKind, columns: actionKind.columns.filter(({ head }) => head !== "Machine") };

/** The last failure, in red unless a later action succeeded. */
function lastFailure(failure: Failure | undefined, isUnresolved: boolean, nowMs: number): Block {
  const rows = failure ? [failure] : [];
  const element = rows.map(({ name, at, sinceMs, class: errorClass, reason }) => {
    const when = tickingTime(sinceMs, nowMs, at, " ago");
    const what = html`${badge("failed", `${name} failed`)} ${when}${errorClass && html`, ${errorClass}`}: ${reason ?? "no reason"}`;
    return html`<p data-row="failure" class="${isUnresolved ? "bad" : "dim"}">${what}${fixLink(errorClass)}${!isUnresolved && ". A later action succeeded."}</p>`;
  });
  const section = { id: "last-failure", rows: element.map((one) => row("failure", one)) };
  return block([section], (shown) => html`<div class="alert" data-section="last-failure">${shown}</div>`);
}

/** A failure as the record of an action that is no longer kept. */
function oldRecord(failure: Failure, machine: string): ActionRecord {
  const { key, name, at, sinceMs, class: errorClass, reason } = failure;
  const ids = { workflowId: "", taskId: "", agentId: "", actionId: "", image: "" };
  return {
    action: { key, name, ...ids },
    machine,
    phase: "failed",
    sinceMs,
    startedAt: at,
    stoppedAt: at,
    adopted: false,
    class: errorClass,
    reason,
    delivery: "acknowledged",
  };
}

function inventoryFacts(name: string, { board, facts: worker }: Sources): readonly MaybeFact[] {
  const { source, object, problem } = worker.machineOrigin?.(name) ?? {};
  const { url, host, providers = [], certificate } = worker.bmcAddress?.(name) ?? {};
  return [
    ["Source", object === undefined ? source : `${source}: ${object}`],
    ["Problem of the source or object", problem],
    ["BMC", url === undefined ? host : html`<a href="${url}" rel="noreferrer">${hostText(host, url)}</a>`],
    ["Provider in use", board.machine(name)?.provider],
    providers.length > 0 && ["Providers, in order", providers.join(", ")],
    ["Accepted certificate", certificate],
  ];
}

/** The host, with the port of its web interface unless that is the usual one. */
function hostText(host: string | undefined, url: string): string {
  const port = URL.parse(url)?.port ?? "";
  return port === "" ? `${host}` : `${host}:${port}`;
}

function labelsText(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}

const FACTS = {
  vendor: "Vendor",
  model: "Model",
  serial: "Serial number",
  biosVersion: "BIOS version",
  bmcVendor: "BMC vendor",
  bmcModel: "BMC model",
  bmcSerial: "BMC serial number",
  bmcFirmware: "BMC firmware",
  certificate: "Certificate",
  lastRestart: "Last restart",
  bootCount: "Boot count",
};

function driftFacts(name: string, { facts: worker }: Sources): readonly MaybeFact[] {
  const { comparedAt, error, differences = [], enforcement } = worker.machineDrift?.(name) ?? {};
  const number = differences.filter(({ state }) => state === "different").length;
  const text = number === 0 ? "nothing differs" : count(number, "value differs", "values differ");
  return [
    comparedAt && ["Desired state, last compared", html`${text} at ${moment(comparedAt)}`],
    error && ["Comparison failed", html`${error.class}: ${error.message}${fixLink(error.class)}`],
    enforcement && ["Corrections", `${enforcement.state}: ${enforcement.reason}`],
  ];
}

const driftKind: Kind<Difference> = {
  id: ({ field }) => rowId(field),
  columns: [
    { head: "Setting", show: ({ field }) => field },
    { head: "State", show: ({ state }) => state },
    { head: "Wanted", show: ({ wanted }) => valueText(wanted) },
    { head: "Actual", class: "reason", show: ({ actual, reason }) => reason ?? valueText(actual) },
  ],
};

function valueText(value: Difference["actual"]): Html {
  if (value === undefined) return NOTHING;
  return html`${Array.isArray(value) ? value.join(", ") || "none" : String(value)}`;
}

const powerKind: Kind<PowerReading & { readonly number: number }> = {
  id: ({ number }) => String(number),
  columns: [
    { head: "Power", show: ({ state }) => badge(state) },
    { head: "First read", class: "time", show: ({ at }) => moment(at) },
    { head: "Read by", show: ({ by }) => by },
  ],
};

function powerText(machine: MachineRecord | undefined, nowMs: number): Html {
  const power = machine?.power;
  if (!power) return html`<span class="dim">not seen yet</span>`;
  return html`${badge(power.state)} ${agoText(power.sinceMs, nowMs, power.at)}`;
}

function agoText(sinceMs: number, nowMs: number, at: Date | undefined): Html {
  return html`<span class="dim">${tickingTime(sinceMs, nowMs, at, " ago")}</span>`;
}

function pauseText({ reason, by }: Pause): string {
  return `${reason} (${by})`;
}

/** The running or first waiting action and the number of further ones; otherwise, why the machine is out of service. */
function nowText({ inFlight, paused }: ShownMachine, nowMs: number): Html {
  const first = inFlight.find(({ phase }) => phase === "running") ?? inFlight[0];
  if (!first) return paused ? html`${badge("paused")} ${pauseText(paused)}` : NOTHING;
  const doing = progressNote(first, nowMs);
  const more = inFlight.length > 1 && html` <span class="dim">and ${inFlight.length - 1} more</span>`;
  return html`${badge(first.phase)} ${actionLink(first)} ${timeText(first, nowMs)}${more}${doing && html`<br>${doing}`}`;
}
