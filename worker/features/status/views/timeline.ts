import { type ActionRecord, isEnded } from "../board/shown-action.ts";
import { type Html, html } from "./html.ts";

const WIDTH = 1_000;
const HEIGHT = 16;
const TICK = 4;

/** When an action waited, ran and ended, on the monotonic clock. */
export interface Course {
  readonly takenMs: number;
  /** As `takenMs` or `endMs` if it did not wait or run. */
  readonly startedMs: number;
  /** Now if it has not ended. */
  readonly endMs: number;
  readonly retriesMs: readonly number[];
}

export function courseOf(record: ActionRecord, nowMs: number): Course {
  const { phase, sinceMs, waitedMs = 0, durationMs = 0, retriesMs = [] } = record;
  const endMs = isEnded(record) ? sinceMs : nowMs;
  const startedMs = phase === "running" ? sinceMs : endMs - durationMs;
  const takenMs = phase === "waiting" ? sinceMs : startedMs - waitedMs;
  return { takenMs, startedMs, endMs, retriesMs: retriesMs.map((ms) => startedMs + ms) };
}

/** From the first to the last moment of all. */
export function spanOf(courses: readonly Course[]): { readonly fromMs: number; readonly toMs: number } {
  const fromMs = courses.reduce((first, { takenMs }) => Math.min(first, takenMs), Number.POSITIVE_INFINITY);
  return { fromMs, toMs: courses.reduce((last, { endMs }) => Math.max(last, endMs), fromMs) };
}

/** A bar with the waiting and running parts and a mark per retry; `label` says the same in words. */
export function timelineBar(
  { takenMs, startedMs, endMs, retriesMs }: Course,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  phase: ActionRecord["phase"],
  label: string,
): Html {
  const x = (ms: number) => Math.round((WIDTH * (ms - fromMs)) / Math.max(1, toMs - fromMs));
  const part = (kind: string, from: number, to: number) =>
    html`<rect class="${kind}" x="${x(from)}" width="${Math.max(2, x(to) - x(from))}" height="${HEIGHT}"/>`;
  const ran = phase !== "waiting" && endMs > startedMs;
  return html`<svg class="timeline" viewBox="0 0 ${WIDTH + TICK} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">
${startedMs > takenMs && part("waiting", takenMs, startedMs)}${(ran || startedMs === takenMs) && part(phase, startedMs, endMs)}
${retriesMs.map((ms) => html`<rect class="retry" x="${x(ms)}" width="${TICK}" height="${HEIGHT}"/>`)}</svg>`;
}
