import { formatSeconds } from "../../../../shared/duration.ts";
import type { PageOptions } from "../board/page-options.ts";
import type { ShownLine } from "../board/recent-lines.ts";
import { fixLink } from "./error-list.ts";
import { factSection, renderFacts } from "./facts.ts";
import { type Html, html } from "./html.ts";
import { badge, deliveryText, machineLink, progressNote, timeText, workflowLink } from "./rows.ts";
import { isoText, moment } from "./times.ts";
import { orNone, type Row, renderRows, type Section, type View } from "./view.ts";

/** One action with its log. Undefined for an unknown action. */
export function actionView(key: string, { board, clock }: PageOptions): View | undefined {
  const record = board.find(key);
  if (!record) return undefined;
  const nowMs = clock.monotonicMs();
  const { lines, dropped } = board.log(key);
  const { action, machine } = record;
  const details = factSection("action", String(record.revision), () => [
    [
      "State",
      html`${badge(record.phase)}${record.adopted && html` <span class="note">adopted: an earlier worker started it</span>`}`,
    ],
    record.class && ["Class", html`${record.class}${fixLink(record.class)}`],
    record.reason !== undefined && [record.phase === "failed" ? "Reason" : "Result", record.reason],
    record.progress && ["Doing", progressNote(record, nowMs)],
    ["Time", timeText(record, nowMs)],
    record.waitedMs !== undefined && ["Waited", formatSeconds(record.waitedMs)],
    record.retriesMs && ["Retries", record.retriesMs.length],
    deliveryText(record) && ["Report", deliveryText(record)],
    record.reported !== undefined && record.reported !== record.reason && ["Reported", record.reported],
    ["Machine", machine === undefined ? "none" : machineLink(machine)],
    ["Workflow", workflowLink(action.workflowId)],
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
${renderFacts(details)}
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
