import { ACTIVITY_MINUTES, type Minute } from "../board/activity.ts";
import { type Html, html } from "./html.ts";
import { type Row, type Section, textRow } from "./view.ts";

const BAR = 5;
const GAP = 1;
const HEIGHT = 40;

/** Small charts of the last hour, one bar per minute. */
export function chartSection(minutes: readonly Minute[]): Section {
  const sum = (of: (minute: Minute) => number) => minutes.reduce((all, minute) => all + of(minute), 0);
  const failed = sum((minute) => minute.failed);
  const ended = failed + sum((minute) => minute.succeeded);
  const busiest = most(minutes, (minute) => minute.succeeded + minute.failed);
  const queue = most(minutes, (minute) => minute.waiting);
  return {
    id: "charts",
    rows: [
      chart(
        "throughput",
        "Ended per minute",
        `${ended} in the last hour, ${failed} failed, at most ${busiest}`,
        [
          bars("failed", minutes, busiest, (minute) => [0, minute.failed]),
          bars("succeeded", minutes, busiest, (minute) => [minute.failed, minute.succeeded]),
        ],
      ),
      chart("queue", "Waiting", `at most ${queue} at once in the last hour`, [
        bars("waiting", minutes, queue, (minute) => [0, minute.waiting]),
      ]),
    ],
  };
}

function most(minutes: readonly Minute[], of: (minute: Minute) => number): number {
  return minutes.reduce((highest, minute) => Math.max(highest, of(minute)), 0);
}

function chart(id: string, title: string, text: string, series: readonly Html[]): Row {
  const width = ACTIVITY_MINUTES * (BAR + GAP);
  return textRow(
    id,
    html`<figure data-row="${id}"><figcaption><b>${title}</b> <span class="dim">${text}</span></figcaption>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path class="ground" d="M0 ${HEIGHT}h${width}"/>${series}</svg></figure>`,
  );
}

/** Bars from a height to another one, in the unit of `highest`. */
function bars(
  kind: string,
  minutes: readonly Minute[],
  highest: number,
  of: (minute: Minute) => readonly [from: number, height: number],
): Html {
  const scale = (value: number) => Math.round((10 * value * HEIGHT) / Math.max(1, highest)) / 10;
  const path = minutes.map((minute, index) => {
    const [from, height] = of(minute);
    if (height === 0) return "";
    return `M${index * (BAR + GAP)} ${HEIGHT - scale(from)}v${-scale(height)}h${BAR}v${scale(height)}z`;
  });
  return html`<path class="${kind}" d="${path.join("")}"/>`;
}
