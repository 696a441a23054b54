import { count } from "../../../../shared/count.ts";
import { formatSeconds } from "../../../../shared/duration.ts";
import { type ActionRecord, isEnded } from "../board/records.ts";
import { actionLink, machineText, resultText, stateText, timeText } from "./actions.ts";
import { type Html, html } from "./html.ts";
import { facts, type Kind, type Sources, table, type View } from "./view.ts";
import { moment } from "./words.ts";

/** When an action waited, ran and ended, on the monotonic clock. */
interface Timed {
  readonly record: ActionRecord;
  readonly takenMs: number;
  /** When the action started. Equals `takenMs` if it did not wait, and `endMs` if it did not run. */
  readonly startedMs: number;
  /** When the action ended; now if it has not ended. */
  readonly endMs: number;
  /** When the workflow's first action was taken. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** The kept actions of one workflow, in the order of their start. Undefined if there are none. */
export function workflowView(id: string, { board, clock }: Sources): View | undefined {
  const nowMs = clock.monotonicMs();
  const all = [...board.active(), ...board.ended()].filter(({ action }) => action.workflowId === id);
  if (all.length === 0) return undefined;
  const timed = all.map((record) => courseOf(record, nowMs)).sort((a, b) => a.takenMs - b.takenMs);
  const fromMs = timed.reduce((first, { takenMs }) => Math.min(first, takenMs), nowMs);
  const toMs = timed.reduce((last, { endMs }) => Math.max(last, endMs), fromMs);
  const phases = (["waiting", "running", "succeeded", "failed"] as const).flatMap((phase) => {
    const number = all.filter((record) => record.phase === phase).length;
    return number === 0 ? [] : [`${number} ${phase}`];
  });
  const begun = timed[0]?.record.takenAt ?? timed[0]?.record.startedAt;
  return {
    status: 200,
    title: `Workflow ${id}`,
    blocks: [
      html`<h1><span class="kind">Workflow</span> ${id}</h1>`,
      facts("workflow", [
        ["Actions", phases.join(", ")],
        ["Agent IDs", [...new Set(all.map(({ action }) => action.agentId))].join(", ")],
        begun && ["First action taken", moment(begun)],
        all.every(isEnded) && ["From the first to the last", formatSeconds(toMs - fromMs)],
        ["Retries", all.reduce((sum, { retriesMs = [] }) => sum + retriesMs.length, 0)],
      ]),
      table(
        { id: "timeline", heading: "Timeline" },
        timelineKind,
        timed.map((course) => ({ ...course, fromMs, toMs })),
        nowMs,
      ),
      html`<p class="legend"><span class="key waiting"></span> waiting <span class="key running"></span> running <span class="key succeeded"></span> ran and succeeded
<span class="key failed"></span> ran and failed <span class="key retry"></span> a call to the BMC is retried</p>`,
    ],
  };
}

function courseOf(record: ActionRecord, nowMs: number) {
  const { phase, sinceMs, waitedMs = 0, durationMs = 0 } = record;
  const endMs = isEnded(record) ? sinceMs : nowMs;
  const startedMs = phase === "running" ? sinceMs : endMs - durationMs;
  return { record, endMs, startedMs, takenMs: phase === "waiting" ? sinceMs : startedMs - waitedMs };
}

const WIDTH = 1_000;
const HEIGHT = 16;
const TICK = 4;

const waited = ({ startedMs, takenMs }: Timed) => formatSeconds(startedMs - takenMs);

/** A bar with the waiting and running parts and a mark per retry. Its label describes them in words. */
function timelineBar(timed: Timed): Html {
  const { record, takenMs, startedMs, endMs, fromMs, toMs } = timed;
  const { phase, retriesMs = [] } = record;
  const x = (ms: number) => Math.round((WIDTH * (ms - fromMs)) / Math.max(1, toMs - fromMs));
  const part = (kind: string, from: number, to: number) =>
    html`<rect class="${kind}" x="${x(from)}" width="${Math.max(2, x(to) - x(from))}" height="${HEIGHT}"/>`;
  const ran = phase === "waiting" ? "" : `, ran ${formatSeconds(endMs - startedMs)}`;
  const label = `waited ${waited(timed)}${ran}, ${count(retriesMs.length, "retry", "retries")}`;
  const isSeen = (phase !== "waiting" && endMs > startedMs) || startedMs === takenMs;
  return html`<svg class="timeline" viewBox="0 0 ${WIDTH + TICK} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">
${startedMs > takenMs && part("waiting", takenMs, startedMs)}${isSeen && part(phase, startedMs, endMs)}
${retriesMs.map((ms) => html`<rect class="retry" x="${x(startedMs + ms)}" width="${TICK}" height="${HEIGHT}"/>`)}</svg>`;
}

const timelineKind: Kind<Timed> = {
  id: ({ record }) => record.action.key,
  columns: [
    { head: "Action", show: ({ record }) => actionLink(record) },
    { head: "Machine", class: "name", show: ({ record }) => machineText(record) },
    { head: "State", show: ({ record }) => stateText(record) },
    { head: "Timeline", class: "bar", show: timelineBar },
    { head: "Waited", class: "time", show: waited },
    { head: "Time", class: "time", show: ({ record }, nowMs) => timeText(record, nowMs) },
    { head: "Retries", show: ({ record }) => record.retriesMs?.length ?? 0 },
    { head: "Result", class: "reason", show: ({ record }, nowMs) => resultText(record, nowMs) },
  ],
};
