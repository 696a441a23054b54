import { elapsedText, formatSeconds } from "../../../../shared/duration.ts";
import { type ActionRecord, isEnded } from "../board/records.ts";
import { type Html, html } from "./html.ts";
import { actionMatches, type Query } from "./query.ts";
import { block, facts, type Kind, listPage, row, type Sources, type View } from "./view.ts";
import { badge, fixLink, isoText, machineLink, moment, NOTHING, tickingTime, workflowLink } from "./words.ts";

export const actionKind: Kind<ActionRecord> = {
  id: ({ action }) => action.key,
  columns: [
    { head: "Action", sort: ["action", ({ action }) => action.name], show: actionLink },
    { head: "Machine", class: "name", sort: ["machine", ({ machine }) => machine ?? ""], show: machineText },
    {
      head: "State",
      sort: ["state", ({ phase, class: errorClass }) => `${phase} ${errorClass ?? ""}`],
      show: stateText,
    },
    // Sorted by the start of the state, the latest first.
    { head: "Time", class: "time", sort: ["time", ({ sinceMs }) => -sinceMs], show: timeText },
    {
      head: "Workflow",
      class: "name",
      sort: ["workflow", ({ action }) => action.workflowId],
      // Without a machine the agent ID identifies the target.
      show: ({ action, machine }) =>
        html`${workflowLink(action.workflowId)}${machine === undefined && html` <span class="dim">as ${action.agentId}</span>`}`,
    },
    { head: "Result", class: "reason", show: resultText },
  ],
};

/** All kept actions: those in flight first, then ended ones, newest first. */
export function actionList(query: Query, { board, clock }: Sources): View {
  const { state } = query;
  const records = [...board.active(), ...board.ended()].filter(
    (record) =>
      actionMatches(query, record) &&
      (state === "" || record.phase === state || (state === "ended" && isEnded(record))),
  );
  const about = {
    path: "/actions",
    heading: "Actions",
    search: "Machine, action, workflow or agent ID",
    states: ["waiting", "running", "ended", "succeeded", "failed"],
  };
  return listPage(about, actionKind, records, query, clock.monotonicMs());
}

/** One action with its log. Undefined for an unknown action. */
export function actionView(key: string, { board, clock }: Sources): View | undefined {
  const record = board.find(key);
  if (!record) return undefined;
  const { action, machine, phase, reason, reported } = record;
  const { lines, dropped } = board.log(key);
  const about = facts("action", [
    [
      "State",
      html`${badge(phase)}${record.adopted && html` <span class="note">adopted: an earlier worker started it</span>`}`,
    ],
    record.class && ["Class", html`${record.class}${fixLink(record.class)}`],
    [phase === "failed" ? "Reason" : "Result", reason],
    ["Doing", progressNote(record, clock.monotonicMs())],
    ["Time", timeText(record, clock.monotonicMs())],
    record.waitedMs !== undefined && ["Waited", formatSeconds(record.waitedMs)],
    ["Retries", record.retriesMs?.length],
    ["Report", deliveryText(record)],
    reported !== reason && ["Reported", reported],
    ["Machine", machine === undefined ? "none" : machineLink(machine)],
    ["Workflow", workflowLink(action.workflowId)],
    ["Task", action.taskId],
    ["Action ID", action.actionId],
    ["Agent ID", action.agentId],
    ["Image", action.image],
    ["Runtime", record.runtime],
    ["Provider", record.provider],
    ["Exit code", record.exitCode],
    record.takenAt && ["Taken", moment(record.takenAt)],
    record.startedAt && ["Started", moment(record.startedAt)],
    record.stoppedAt && ["Ended", moment(record.stoppedAt)],
  ]);
  const rows = lines.map(({ number, at, severity, text }) =>
    row(
      String(number),
      html`<li data-row="${number}" class="${severity}"><time>${isoText(at).slice(11, 19)}</time> <b>${severity}</b> <span>${text}</span></li>`,
    ),
  );
  const note = dropped > 0 ? `${dropped} lines before these are no longer kept here.` : "No lines.";
  if (dropped > 0 || rows.length === 0)
    rows.unshift(row("note", html`<li data-row="note" class="dim">${note}</li>`));
  return {
    status: 200,
    title: machine === undefined ? action.name : `${action.name} at ${machine}`,
    blocks: [
      html`<h1><span class="kind">Action</span> ${action.name}</h1>`,
      about,
      html`<h2 id="log-heading">Log <span class="aside">times in UTC</span></h2>`,
      block(
        [{ id: "log", rows }],
        (shown) =>
          html`<ol class="log" tabindex="0" aria-labelledby="log-heading" data-section="log">${shown}</ol>`,
      ),
    ],
  };
}

/** Links to an action. Old failures of a machine no longer have their own page or workflow. */
export function actionLink({ action }: ActionRecord): Html {
  return action.workflowId === ""
    ? html`${action.name}`
    : html`<a href="/actions/${action.key}">${action.name}</a>`;
}

export function machineText({ machine }: ActionRecord): Html {
  return machine === undefined ? NOTHING : machineLink(machine);
}

export function stateText({ phase, class: errorClass, adopted }: ActionRecord): Html {
  const label = errorClass ? `${phase}: ${errorClass}` : phase;
  return html`${badge(phase, label)}${adopted && html` <span class="note">adopted</span>`}`;
}

/** How long the action has waited or run, with its timeout; after the end, how long it ran and when it ended. */
export function timeText(record: ActionRecord, nowMs: number): Html {
  const { phase, sinceMs, startedAt, takenAt, stoppedAt, timeoutMs, durationMs } = record;
  if (isEnded(record)) {
    const notRun = startedAt ? "ended" : "not run";
    const took = durationMs === undefined ? notRun : formatSeconds(durationMs);
    return html`${took}<span class="dim">, ${tickingTime(sinceMs, nowMs, stoppedAt, " ago")}</span>`;
  }
  if (phase === "waiting") return tickingTime(sinceMs, nowMs, takenAt);
  const most = timeoutMs !== undefined && html` <span class="dim">of ${elapsedText(timeoutMs)}</span>`;
  return html`${tickingTime(sinceMs, nowMs, startedAt)}${most}`;
}

export function resultText(record: ActionRecord, nowMs: number): Html {
  const { reason = NOTHING, class: errorClass } = record;
  return html`${progressNote(record, nowMs) ?? reason}${fixLink(errorClass)}${deliveryText(record)}`;
}

/** The current step of the action, its duration and its limit. */
export function progressNote({ progress }: ActionRecord, nowMs: number): Html | undefined {
  if (!progress) return undefined;
  const { limitMs, sinceMs, text } = progress;
  const most = limitMs !== undefined && ` of ${elapsedText(limitMs)}`;
  return html`${text} <span class="dim">${tickingTime(sinceMs, nowMs, undefined)}${most}</span>`;
}

const DELIVERY_NOTES = {
  pending: "report not acknowledged yet",
  rejected: "report rejected by the server, repeating it",
  dropped: "report dropped: its workflow is gone",
  unanswered: "report pending",
};

/** A note about the final report, unless it was acknowledged. */
function deliveryText(record: ActionRecord): Html | undefined {
  const { delivery = "pending" } = record;
  if (!isEnded(record) || delivery === "acknowledged") return undefined;
  return html` <span class="note">${DELIVERY_NOTES[delivery]}</span>`;
}
