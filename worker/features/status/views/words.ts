import { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { elapsedText } from "../../../../shared/duration.ts";
import { Html, html } from "./html.ts";

export const NOTHING = html`<span class="dim nothing">–</span>`;

/** A symbol for each state, so that colour is not the only difference. */
const SYMBOLS: Readonly<Record<string, string>> = {
  waiting: "◷",
  running: "▶",
  succeeded: "✓",
  failed: "✕",
  polling: "✓",
  busy: "▶",
  failing: "✕",
  paused: "‖",
  on: "●",
  off: "○",
  unknown: "?",
};

export function badge(state: string, label = state): Html {
  const symbol = html`<span aria-hidden="true">${SYMBOLS[state] ?? "–"}</span>`;
  return html`<span class="badge ${state.replace(/[^a-z]/g, "-")}">${symbol} ${label}</span>`;
}

export function machineLink(name: string): Html {
  return html`<a href="/machines/${encodeURIComponent(name.toWellFormed())}">${name}</a>`;
}

/** The slash of `namespace/name` stays, because proxies do not keep it encoded. */
export function workflowLink(id: string): Html {
  if (id === "") return NOTHING;
  return html`<a href="/workflows/${id.toWellFormed().split("/").map(encodeURIComponent).join("/")}">${id}</a>`;
}

/** A link to the help for failures of an error class. */
export function fixLink(errorClass: string | undefined): Html | undefined {
  if (!ErrorClass.safeParse(errorClass).success) return undefined;
  return html` <a class="fix" href="/help/${errorClass}" aria-label="How to fix ${errorClass}">How to fix</a>`;
}

/** Time since a moment, which advances in browsers with scripts. Never negative. */
export function tickingTime(sinceMs: number, nowMs: number, at: Date | undefined, suffix = ""): Html {
  const ms = Math.max(0, Math.round(nowMs - sinceMs));
  const moment = at && html` datetime="${isoText(at)}" title="${isoText(at)}"`;
  const { text } =
    html`<time data-elapsed="${ms}" data-suffix="${suffix}"${moment}>${elapsedText(ms)}${suffix}</time>`;
  return new Html(text, at ? isoText(at) : "");
}

export function moment(at: Date): Html {
  const text = isoText(at).replace("T", " ").replace("Z", " UTC");
  return html`<time datetime="${isoText(at)}">${text}</time>`;
}

/** The time in UTC with whole seconds, such as 2026-11-21T03:12:45Z; `unknown` for an invalid date. */
export function isoText(at: Date): string {
  return Number.isNaN(at.getTime()) ? "unknown" : at.toISOString().replace(/\.\d+Z$/, "Z");
}
