import { elapsedText } from "../../../../shared/duration.ts";
import { type Html, html } from "./html.ts";

/** Time since a moment, which advances in browsers with scripts. Never negative. */
export function tickingTime(sinceMs: number, nowMs: number, at: Date | undefined, suffix = ""): Html {
  const ms = Math.max(0, Math.round(nowMs - sinceMs));
  const moment = at && html` datetime="${isoText(at)}" title="${isoText(at)}"`;
  const ticking = html`data-elapsed="${ms}" data-suffix="${suffix}"`;
  return html`<time ${ticking}${moment}>${elapsedText(ms)}${suffix}</time>`;
}

export function moment(at: Date): Html {
  const text = isoText(at).replace("T", " ").replace("Z", " UTC");
  return html`<time datetime="${isoText(at)}">${text}</time>`;
}

/** UTC to the second: 2026-11-21T03:12:45Z; `unknown` for an invalid date. */
export function isoText(at: Date): string {
  return Number.isNaN(at.getTime()) ? "unknown" : at.toISOString().replace(/\.\d+Z$/, "Z");
}
