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

/** A growing duration for people: `12 s`, `4m 05s`, `3h 12m`, `2d 3h`. `files/script.js` has the same function. */
export function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${two(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h ${two(minutes % 60)}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}
