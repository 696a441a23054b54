import { count } from "../../../../shared/count.ts";
import { formatSeconds } from "../../../../shared/duration.ts";
import type { PageOptions } from "../board/page-options.ts";
import { type ActionRecord, isEnded } from "../board/shown-action.ts";
import { factSection, renderFacts } from "./facts.ts";
import { type Html, html } from "./html.ts";
import { renderTable, sectionsOf, tablePart } from "./parts.ts";
import { actionLink, machineText, resultText, stateText, timeText } from "./rows.ts";
import type { RowKind } from "./table-row.ts";
import { type Course, courseOf, spanOf, timelineBar } from "./timeline.ts";
import { moment } from "./times.ts";
import type { View } from "./view.ts";

/** The kept actions of one workflow, in the order of their start. Undefined if there are none. */
export function workflowView(id: string, { board, clock }: PageOptions): View | undefined {
  const nowMs = clock.monotonicMs();
  const actions = [...board.active(), ...board.ended()]
    .filter(({ action }) => action.workflowId === id)
    .map((record) => ({ record, course: courseOf(record, nowMs) }))
    .sort((a, b) => a.course.takenMs - b.course.takenMs);
  const [first] = actions;
  if (!first) return undefined;
  const records = actions.map(({ record }) => record);
  const span = spanOf(actions.map(({ course }) => course));
  const agents = [...new Set(records.map(({ action }) => action.agentId))];
  const version = records.map(({ revision }) => revision).join(" ");
  const retries = records.reduce((all, { retriesMs = [] }) => all + retriesMs.length, 0);
  const begun = first.record.takenAt ?? first.record.startedAt;
  const facts = factSection("workflow", version, () => [
    ["Actions", summaryOf(records)],
    ["Agent IDs", agents.join(", ")],
    begun && ["First action taken", moment(begun)],
    records.every(isEnded) && ["From the first to the last", formatSeconds(span.toMs - span.fromMs)],
    ["Retries", retries],
  ]);
  const table = tablePart({
    ...{ id: "timeline", heading: "Timeline", kind: timelineKind, nowMs },
    items: actions.map((action) => ({ ...action, bar: barOf(action, span) })),
  });
  return {
    status: 200,
    title: `Workflow ${id}`,
    sections: [facts, ...sectionsOf([table])],
    render: () => html`<h1><span class="kind">Workflow</span> ${id}</h1>
${renderFacts(facts)}
${renderTable(table)}
<p class="legend"><span class="key waiting"></span> waiting <span class="key running"></span> running <span class="key succeeded"></span> ran and succeeded
<span class="key failed"></span> ran and failed <span class="key retry"></span> a call to the BMC is retried</p>`,
  };
}

function summaryOf(records: readonly ActionRecord[]): string {
  const phases = (["waiting", "running", "succeeded", "failed"] as const).flatMap((phase) => {
    const number = records.filter((record) => record.phase === phase).length;
    return number === 0 ? [] : [`${number} ${phase}`];
  });
  return phases.join(", ");
}

interface Timed {
  readonly record: ActionRecord;
  readonly course: Course;
}

const waited = ({ startedMs, takenMs }: Course) => formatSeconds(startedMs - takenMs);

function barOf({ record, course }: Timed, span: Parameters<typeof timelineBar>[1]): Html {
  const { phase, retriesMs = [] } = record;
  const ran = phase === "waiting" ? "" : `, ran ${formatSeconds(course.endMs - course.startedMs)}`;
  const label = `waited ${waited(course)}${ran}, ${count(retriesMs.length, "retry", "retries")}`;
  return timelineBar(course, span, phase, label);
}

const timelineKind: RowKind<Timed & { readonly bar: Html }> = {
  id: ({ record }) => record.action.key,
  // The scale changes with the other actions.
  version: ({ record, bar }) => `${record.revision} ${bar.text}`,
  columns: [
    { head: "Action", show: ({ record }) => actionLink(record) },
    { head: "Machine", show: ({ record }) => machineText(record) },
    { head: "State", show: ({ record }) => stateText(record) },
    { head: "Timeline", class: "bar", show: ({ bar }) => bar },
    { head: "Waited", class: "time", show: ({ course }) => waited(course) },
    { head: "Time", class: "time", show: ({ record }, nowMs) => timeText(record, nowMs) },
    { head: "Retries", show: ({ record }) => record.retriesMs?.length ?? 0 },
    { head: "Result", class: "reason", show: ({ record }, nowMs) => resultText(record, nowMs) },
  ],
};
