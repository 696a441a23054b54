import { version } from "../../../shared/version.ts";
import { assets } from "./assets.ts";
import type { PageOptions } from "./board/page-options.ts";
import { type Html, html } from "./views/html.ts";
import { tickingTime } from "./views/times.ts";
import type { View } from "./views/view.ts";

/** Without scripts the page reloads at this interval. */
const RELOAD_SECONDS = 15;

const PLACES = [
  ["/", "Overview"],
  ["/machines", "Machines"],
  ["/actions", "Actions"],
  ["/lanes", "Lanes"],
] as const;

/** A whole page around a view. From `seen` the event stream knows which content the reader has. */
export function renderPage(
  view: View,
  url: URL,
  seen: string,
  { clock, begunMs, begunAt }: PageOptions,
): string {
  const address = `${url.pathname}${url.search}`;
  const stream = view.status === 200 && html` data-events="/events?of=${encodeURIComponent(address)}"`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${view.title} – pbnj-worker</title>
<link rel="icon" href="${assets.icon.path}">
<link rel="stylesheet" href="${assets.style.path}">
<script type="module" src="${assets.script.path}"></script>
<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}"></noscript>
</head>
<body data-seen="${seen}"${stream}>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="brand" href="/">pbnj-worker</a>
<nav aria-label="Pages of the worker">${PLACES.map(([path, name]) => placeLink(path, name, url))}</nav>
<div class="worker">
<span id="live" role="status"></span>
<noscript><span>reloads every ${RELOAD_SECONDS} s</span></noscript>
<span>version ${version}</span>
<span>up ${tickingTime(begunMs, clock.monotonicMs(), begunAt)}</span>
</div>
</header>
<main id="main" tabindex="-1">
${view.render()}
</main>
</body>
</html>
`.text;
}

function placeLink(path: string, name: string, url: URL): Html {
  const current = url.pathname === path && html` aria-current="page"`;
  return html`<a href="${path}"${current}>${name}</a>`;
}
