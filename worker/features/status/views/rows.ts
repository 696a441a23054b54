import { elapsedText, formatSeconds } from "../../../../shared/duration.ts";
import type { AgentIdCase, MachineSourceFacts } from "../../../core/action/observer.ts";
import type { LaneRecord } from "../board/lane-records.ts";
import type { MachineRecord } from "../board/machine-record.ts";
import { type ActionRecord, isEnded } from "../board/shown-action.ts";
import { fixLink, folded } from "./error-list.ts";
import { type Html, html } from "./html.ts";
import { MACHINE_STATES, type ShownMachine } from "./machine-states.ts";
import type { RowKind } from "./table-row.ts";
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

export const machineKind: RowKind<ShownMachine> = {
  id: ({ name }) => rowId(name),
  version: ({ record }) => String(record?.revision ?? 0),
  columns: [
    { head: "Machine", sort: ["name", ({ name }) => name], show: ({ name }) => machineLink(name) },
    {
      ...{ head: "Power, last seen", label: "Power" },
      sort: ["power", ({ record }) => record?.power?.state ?? "unknown"],
      show: ({ record }, nowMs) => powerText(record, nowMs),
    },
    {
      head: "Now",
      // The most urgent first.
      sort: ["state", ({ state }) => MACHINE_STATES.indexOf(state)],
      show: ({ inFlight }, nowMs) => nowText(inFlight, nowMs),
    },
    {
      head: "Last action",
      sort: ["ended", ({ last }) => -(last?.sinceMs ?? Number.NEGATIVE_INFINITY)],
      show: ({ last }, nowMs) => (last ? html`${actionLink(last)} ${agoText(last, nowMs)}` : NOTHING),
    },
    {
      ...{ head: "Result", class: "reason" },
      sort: ["result", ({ last }) => `${last?.phase ?? "~"} ${last?.class ?? ""}`],
      show: ({ last }) => (last ? endText(last) : NOTHING),
    },
  ],
};

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

export const actionKind: RowKind<ActionRecord> = {
  id: ({ action }) => action.key,
  version: ({ revision }) => String(revision),
  columns: [
    { head: "Action", sort: ["action", ({ action }) => action.name], show: actionLink },
    { head: "Machine", sort: ["machine", ({ machine }) => machine ?? ""], show: machineText },
    {
      head: "State",
      sort: ["state", ({ phase, class: errorClass }) => `${phase} ${errorClass ?? ""}`],
      show: stateText,
    },
    // By the begin of the state, the latest first.
    { head: "Time", class: "time", sort: ["time", ({ sinceMs }) => -sinceMs], show: timeText },
    {
      head: "Workflow",
      sort: ["workflow", ({ action }) => action.workflowId],
      // Without a machine the agent ID identifies the target.
      show: ({ action, machine }) =>
        html`${workflowLink(action.workflowId)}${machine === undefined && html` <span class="dim">as ${action.agentId}</span>`}`,
    },
    { head: "Result", class: "reason", show: resultText },
  ],
};

export const LANE_STATES = ["failing", "busy", "polling", "waiting"];

export const laneKind: RowKind<LaneRecord> = {
  id: ({ agentId }) => rowId(agentId),
  version: ({ revision }) => String(revision),
  columns: [
    { head: "Agent ID", sort: ["agent", ({ agentId }) => agentId], show: ({ agentId }) => agentId },
    {
      head: "State",
      sort: ["state", ({ state }) => LANE_STATES.indexOf(state)],
      show: ({ state }) => badge(state),
    },
    {
      ...{ head: "Since", class: "time" },
      sort: ["since", ({ sinceMs }) => -sinceMs],
      show: ({ sinceMs }, nowMs) => tickingTime(sinceMs, nowMs, undefined),
    },
    {
      head: "The server's answer",
      show: ({ code, state }) => code ?? (state === "failing" ? "none" : NOTHING),
    },
  ],
};

export const sourceKind: RowKind<MachineSourceFacts> = {
  id: ({ name }) => rowId(name),
  columns: [
    { head: "Source", show: ({ name }) => name },
    { head: "Machines, last seen", show: ({ machines }) => machines },
    { head: "Problem", class: "reason", show: ({ problems }) => folded(problems.join("; ")) },
  ],
};

export const agentCaseKind: RowKind<AgentIdCase> = {
  id: ({ named }) => rowId(named),
  columns: [
    { head: "Named by a Workflow", show: ({ named }) => named },
    { head: "This worker's agent ID", show: ({ polled }) => polled },
  ],
};

/** A number of the overview that links to what it counts. */
export function tile(id: string, label: string, count: number, href: string, isBad = false): Row {
  const link = html`<a href="${href}"><b>${count}</b> <span>${label}</span></a>`;
  return textRow(id, html`<li data-row="${id}" class="${isBad ? "bad" : ""}">${link}</li>`);
}
