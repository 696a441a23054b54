import { elapsedText, formatSeconds } from "../../../../shared/duration.ts";
import type { AgentIdCase, MachineSourceFacts } from "../../../action/observer.ts";
import { type ActionRecord, isEnded } from "../board/action-record.ts";
import type { LaneRecord } from "../board/lane-records.ts";
import type { MachineRecord } from "../board/machine-record.ts";
import { fixLink, folded } from "./errors.ts";
import { type Html, html } from "./html.ts";
import type { ShownMachine } from "./machine-states.ts";
import { tickingTime } from "./times.ts";
import { type Row, rowId, textRow } from "./view.ts";

/** A symbol for each state, so that colour is not the only difference. */
const SYMBOLS: Readonly<Record<string, string>> = {
  waiting: "◷",
  running: "▶",
  succeeded: "✓",
  failed: "✕",
  polling: "✓",
  busy: "▶",
  failing: "✕",
  on: "●",
  off: "○",
  unknown: "?",
};

export function badge(state: string, label = state): Html {
  const symbol = html`<span aria-hidden="true">${SYMBOLS[state] ?? "–"}</span>`;
  return html`<span class="badge ${state.replace(/[^a-z]/g, "-")}">${symbol} ${label}</span>`;
}

export function machineLink(name: string): Html {
  return html`<a href="/machines/${encodeURIComponent(name)}">${name}</a>`;
}

/** The slash of `namespace/name` stays, because proxies do not keep it encoded. */
export function workflowLink(id: string): Html {
  return html`<a href="/workflows/${id.toWellFormed().split("/").map(encodeURIComponent).join("/")}">${id}</a>`;
}

export function actionLink({ action }: ActionRecord): Html {
  return html`<a href="/actions/${action.key}">${action.name}</a>`;
}

export const MACHINE_COLUMNS = ["Machine", "Power, last seen", "Now", "Last action", "Result"] as const;

export function machineRow({ name, record: machine, inFlight, last }: ShownMachine, nowMs: number): Row {
  const id = rowId(name);
  return {
    id,
    version: String(machine?.revision ?? 0),
    render: () => html`<tr data-row="${id}">
<th scope="row" data-label="Machine">${machineLink(name)}</th>
<td data-label="Power">${powerText(machine, nowMs)}</td>
<td data-label="Now">${nowText(inFlight, nowMs)}</td>
<td data-label="Last action">${last ? html`${actionLink(last)} ${agoText(last, nowMs)}` : NOTHING}</td>
<td data-label="Result" class="reason">${last ? endText(last) : NOTHING}</td>
</tr>`,
  };
}

export const NOTHING = html`<span class="dim nothing">–</span>`;

export function powerText(machine: MachineRecord | undefined, nowMs: number): Html {
  const power = machine?.power;
  if (!power) return html`<span class="dim">not seen yet</span>`;
  return html`${badge(power.state)} <span class="dim">${tickingTime(power.sinceMs, nowMs, power.at, " ago")}</span>`;
}

/** The running or first waiting action, and the number of further ones. */
function nowText(inFlight: readonly ActionRecord[], nowMs: number): Html {
  const first = inFlight.find(({ phase }) => phase === "running") ?? inFlight[0];
  if (!first) return NOTHING;
  const doing = progressNote(first, nowMs);
  const more = inFlight.length > 1 && html` <span class="dim">and ${inFlight.length - 1} more</span>`;
  return html`${badge(first.phase)} ${actionLink(first)} ${sinceText(first, nowMs)}${more}${doing && html`<br>${doing}`}`;
}

function endText(record: ActionRecord): Html {
  const label = record.class ? `${record.phase}: ${record.class}` : record.phase;
  return html`${badge(record.phase, label)}${fixLink(record.class)} ${folded(record.reason ?? "")}${deliveryText(record)}`;
}

/** A note about the final report, unless it was acknowledged. */
export function deliveryText(record: ActionRecord): Html | undefined {
  if (!isEnded(record)) return undefined;
  switch (record.delivery) {
    case "acknowledged":
      return undefined;
    case undefined:
      return html` <span class="note">report not acknowledged yet</span>`;
    case "rejected":
      return html` <span class="note">report rejected by the server, repeating it</span>`;
    case "dropped":
      return html` <span class="note">report dropped: its workflow is gone</span>`;
    case "unanswered":
      return html` <span class="note">report pending</span>`;
    default:
      return record.delivery satisfies never;
  }
}

function agoText({ sinceMs, stoppedAt }: ActionRecord, nowMs: number): Html {
  return html`<span class="dim">${tickingTime(sinceMs, nowMs, stoppedAt, " ago")}</span>`;
}

/** How long it has waited or run, and its timeout. */
function sinceText(record: ActionRecord, nowMs: number): Html {
  const { phase, sinceMs, startedAt, takenAt, timeoutMs } = record;
  const running = phase === "running";
  const most =
    running && timeoutMs !== undefined && html` <span class="dim">of ${elapsedText(timeoutMs)}</span>`;
  return html`${tickingTime(sinceMs, nowMs, running ? startedAt : takenAt)}${most}`;
}

/** How long it has waited, has run, or ran. */
export function timeText(record: ActionRecord, nowMs: number): Html {
  if (!isEnded(record)) return sinceText(record, nowMs);
  const notRun = record.startedAt ? "ended" : "not run";
  const took = record.durationMs === undefined ? notRun : formatSeconds(record.durationMs);
  return html`${took}<span class="dim">, </span>${agoText(record, nowMs)}`;
}

/** What it does now, for how long, and the limit of that. */
export function progressNote({ progress }: ActionRecord, nowMs: number): Html | undefined {
  if (!progress) return undefined;
  const { limitMs, sinceMs, text } = progress;
  const most = limitMs !== undefined && ` of ${elapsedText(limitMs)}`;
  return html`${text} <span class="dim">${tickingTime(sinceMs, nowMs, undefined)}${most}</span>`;
}

export function machineText({ machine }: ActionRecord): Html {
  return machine === undefined ? NOTHING : machineLink(machine);
}

export function stateText({ phase, class: errorClass, adopted }: ActionRecord): Html {
  const label = errorClass ? `${phase}: ${errorClass}` : phase;
  return html`${badge(phase, label)}${fixLink(errorClass)}${adopted && html` <span class="note">adopted</span>`}`;
}

export function resultText(record: ActionRecord, nowMs: number): Html {
  const { reason } = record;
  const result = progressNote(record, nowMs) ?? (reason === undefined ? NOTHING : folded(reason));
  return html`${result}${deliveryText(record)}`;
}

export const ACTION_COLUMNS = ["Action", "Machine", "State", "Time", "Workflow", "Result"] as const;

export function actionRow(record: ActionRecord, nowMs: number): Row {
  const { action, machine } = record;
  // Without a machine the agent ID identifies the target.
  const agent = machine === undefined && html` <span class="dim">as ${action.agentId}</span>`;
  return {
    id: action.key,
    version: String(record.revision),
    render: () => html`<tr data-row="${action.key}">
<th scope="row" data-label="Action">${actionLink(record)}</th>
<td data-label="Machine">${machineText(record)}</td>
<td data-label="State">${stateText(record)}</td>
<td data-label="Time" class="time">${timeText(record, nowMs)}</td>
<td data-label="Workflow">${workflowLink(action.workflowId)}${agent}</td>
<td data-label="Result" class="reason">${resultText(record, nowMs)}</td>
</tr>`,
  };
}

export const LANE_COLUMNS = ["Agent ID", "State", "Since", "The server's answer"] as const;

export function laneRow({ agentId, state, sinceMs, code, revision }: LaneRecord, nowMs: number): Row {
  const id = rowId(agentId);
  return {
    id,
    version: String(revision),
    render: () => html`<tr data-row="${id}">
<th scope="row" data-label="Agent ID">${agentId}</th>
<td data-label="State">${badge(state)}</td>
<td data-label="Since" class="time">${tickingTime(sinceMs, nowMs, undefined)}</td>
<td data-label="The server's answer">${code ?? (state === "failing" ? "none" : NOTHING)}</td>
</tr>`,
  };
}

export const SOURCE_COLUMNS = ["Source", "Machines, last seen", "Problem"] as const;

export function sourceRow({ name, machines, problems }: MachineSourceFacts): Row {
  return textRow(
    rowId(name),
    html`<tr data-row="${rowId(name)}">
<th scope="row" data-label="Source">${name}</th>
<td data-label="Machines, last seen">${machines}</td>
<td data-label="Problem" class="reason">${folded(problems.join("; "))}</td>
</tr>`,
  );
}

export const CASE_COLUMNS = ["Named by a Workflow", "This worker's agent ID"] as const;

export function caseRow({ named, polled }: AgentIdCase): Row {
  return textRow(
    rowId(named),
    html`<tr data-row="${rowId(named)}">
<th scope="row" data-label="Named by a Workflow">${named}</th>
<td data-label="This worker's agent ID">${polled}</td>
</tr>`,
  );
}

/** A number of the overview that links to what it counts. */
export function tile(id: string, label: string, count: number, href: string, isBad = false): Row {
  const link = html`<a href="${href}"><b>${count}</b> <span>${label}</span></a>`;
  return textRow(id, html`<li data-row="${id}" class="${isBad ? "bad" : ""}">${link}</li>`);
}
