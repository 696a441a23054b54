import type { ActionRecord } from "../board/action-record.ts";
import type { PageOptions } from "../board/page-options.ts";
import type { ShownLine } from "../board/recent-lines.ts";
import { type Html, type HtmlValue, html } from "./html.ts";
import { renderTable, sectionsOf, tablePart } from "./parts.ts";
import {
  ACTION_COLUMNS,
  actionRow,
  badge,
  deliveryText,
  machineLink,
  powerText,
  progressNote,
  timeText,
} from "./rows.ts";
import { isoText, moment } from "./times.ts";
import { orNone, type Row, renderRows, type Section, type View } from "./view.ts";

/** One machine: its power, its current actions and its earlier ones. Undefined for an unknown machine. */
export function machineView(name: string, { board, facts, clock }: PageOptions): View | undefined {
  const machine = board.machine(name);
  const known = facts.machines().includes(name);
  if (!machine && !known) return undefined;
  const nowMs = clock.monotonicMs();
  const inFlight = (machine?.inFlight ?? []).flatMap((key) => board.find(key) ?? []);
  const ended = board.ended().filter((record) => record.machine === name);
  const version = `${machine?.revision ?? 0} ${known}`;
  const power = machine?.power;
  const details = detailSection("machine", version, () => [
    ["Power, last seen", powerText(machine, nowMs)],
    power && ["Read by", html`${power.by} at ${moment(power.at)}`],
    !known && ["Inventory", "no longer has this machine"],
  ]);
  const table = (id: string, heading: string, records: readonly ActionRecord[], none: string) =>
    tablePart({
      id,
      heading,
      columns: ACTION_COLUMNS,
      count: records.length,
      rows: records.map((record) => actionRow(record, nowMs)),
      none,
    });
  const parts = [
    table("at-hand", "Running and waiting", inFlight, "No action is running."),
    table("ended", "Ended", ended, "None that the worker still has on record."),
  ];
  return {
    status: 200,
    title: name,
    sections: [details, ...sectionsOf(parts)],
    render: () => html`<h1><span class="kind">Machine</span> ${name}</h1>
${renderDetails(details)}
${parts.map(renderTable)}`,
  };
}

/** One action with its log. Undefined for an unknown action. */
export function actionView(key: string, { board, clock }: PageOptions): View | undefined {
  const record = board.find(key);
  if (!record) return undefined;
  const nowMs = clock.monotonicMs();
  const { lines, dropped } = board.log(key);
  const { action, machine } = record;
  const details = detailSection("action", String(record.revision), () => [
    [
      "State",
      html`${badge(record.phase)}${record.adopted && html` <span class="note">adopted: an earlier worker started it</span>`}`,
    ],
    record.class && ["Class", record.class],
    record.reason !== undefined && [record.phase === "failed" ? "Reason" : "Result", record.reason],
    record.progress && ["Doing", progressNote(record, nowMs)],
    ["Time", timeText(record, nowMs)],
    deliveryText(record) && ["Report", deliveryText(record)],
    record.reported !== undefined && record.reported !== record.reason && ["Reported", record.reported],
    ["Machine", machine === undefined ? "none" : machineLink(machine)],
    ["Workflow", action.workflowId],
    ["Task", action.taskId],
    ["Action ID", action.actionId],
    ["Agent ID", action.agentId],
    ["Image", action.image],
    record.runtime && ["Runtime", record.runtime],
    record.provider && ["Provider", record.provider],
    record.exitCode !== undefined && ["Exit code", record.exitCode],
    record.takenAt && ["Taken", moment(record.takenAt)],
    record.startedAt && ["Started", moment(record.startedAt)],
    record.stoppedAt && ["Ended", moment(record.stoppedAt)],
  ]);
  const log: Section = { id: "log", rows: [...droppedRow(dropped), ...orNone(lines.map(logRow), noLine)] };
  return {
    status: 200,
    title: machine === undefined ? action.name : `${action.name} at ${machine}`,
    sections: [details, log],
    render: () => html`<h1><span class="kind">Action</span> ${action.name}</h1>
${renderDetails(details)}
<section aria-labelledby="log-heading">
<h2 id="log-heading">Log <span class="aside">times in UTC</span></h2>
<ol class="log" tabindex="0" aria-labelledby="log-heading" data-section="log">${renderRows(log)}</ol>
</section>`,
  };
}

export function notFound(what: string): View {
  return {
    status: 404,
    title: "Not found",
    sections: [],
    render: () => html`<h1>Not found</h1>
<p>${what}</p>
<p><a href="/">Overview</a></p>`,
  };
}

type Fact = readonly [name: string, value: HtmlValue];

/** A list of facts that is updated as a whole. */
function detailSection(
  id: string,
  version: string,
  facts: () => readonly (Fact | false | undefined | "")[],
): Section {
  const render = () => {
    const rows = facts().flatMap((fact) => (fact ? [html`<dt>${fact[0]}</dt><dd>${fact[1]}</dd>`] : []));
    return html`<dl data-row="facts">${rows}</dl>`;
  };
  return { id: `${id}-facts`, rows: [{ id: "facts", version, render }] };
}

function renderDetails(section: Section): Html {
  return html`<div class="facts" data-section="${section.id}">${renderRows(section)}</div>`;
}

function logRow({ number, at, severity, text }: ShownLine): Row {
  const id = String(number);
  return {
    id,
    version: "",
    render: () =>
      html`<li data-row="${id}" class="${severity}"><time>${isoText(at).slice(11, 19)}</time> <b>${severity}</b> <span>${text}</span></li>`,
  };
}

function droppedRow(dropped: number): readonly Row[] {
  if (dropped === 0) return [];
  const element = html`<li data-row="dropped" class="dim">${dropped} lines before these are no longer kept here.</li>`;
  return [{ id: "dropped", version: String(dropped), render: () => element }];
}

function noLine(id: string): Html {
  return html`<li data-row="${id}" class="dim">No lines.</li>`;
}
