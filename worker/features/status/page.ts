import { version } from "../../../shared/version.ts";
import { assets } from "./assets.ts";
import { actionList, actionView } from "./views/actions.ts";
import { agentList } from "./views/agents.ts";
import { helpView } from "./views/help.ts";
import { Html, html } from "./views/html.ts";
import { machineList, machineView } from "./views/machines.ts";
import { overview } from "./views/overview.ts";
import { type Query, queryOf } from "./views/query.ts";
import { type Sources, sectionsOf, type View } from "./views/view.ts";
import { tickingTime } from "./views/words.ts";
import { workflowView } from "./views/workflow.ts";

const LISTS: Readonly<Record<string, readonly [title: string, view: (query: Query, of: Sources) => View]>> = {
  "/": ["Overview", overview],
  "/machines": ["Machines", machineList],
  "/actions": ["Actions", actionList],
  "/agent-ids": ["Agent IDs", agentList],
};

const ONE: Readonly<Record<string, (name: string, of: Sources) => View | undefined>> = {
  action: actionView,
  machine: machineView,
  workflow: workflowView,
  help: helpView,
};

/** The addresses of pages. The ID of a workflow has a slash. */
export const PAGES = /^\/(?:machines|actions|agent-ids|(?:actions|machines|help)\/[^/]+|workflows\/.+)?$/;

/** Without scripts the page reloads at this interval. */
const RELOAD_SECONDS = 15;

/** The view at an address. */
export function viewAt({ pathname, searchParams }: URL, sources: Sources): View {
  const list = Object.hasOwn(LISTS, pathname) ? LISTS[pathname] : undefined;
  if (list) return list[1](queryOf(searchParams), sources);
  const [, path = "", ...rest] = pathname.split("/").map(decoded);
  const [kind, name] = [path.replace(/s$/, ""), rest.join("/")];
  const gone = html`<h1>Not found</h1>
<p>There is no ${kind} ${name}, or it is no longer kept here.</p>
<p><a href="/">Overview</a></p>`;
  return ONE[kind]?.(name, sources) ?? { status: 404, title: "Not found", blocks: [gone] };
}

/** Decodes a part of a path; invalid encoding stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Renders a whole page around a view. `seen` tells the event stream which content the reader has. */
export function renderPage(view: View, url: URL, seen: string, { clock, begunMs, begunAt }: Sources): string {
  const address = `${url.pathname}${url.search}`;
  const isLive = sectionsOf(view).length > 0;
  const stream = isLive && html` data-events="/events?of=${encodeURIComponent(address)}"`;
  const places = Object.entries(LISTS).map(([path, [title]]) => {
    const current = url.pathname === path && html` aria-current="page"`;
    return html`<a href="${path}"${current}>${title}</a>`;
  });
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${view.title} – pbnj-worker</title>
<link rel="icon" href="${assets.icon.path}">
<link rel="stylesheet" href="${assets.style.path}">
<script type="module" src="${assets.script.path}"></script>
${isLive && html`<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}"></noscript>`}
</head>
<body data-seen="${seen}"${stream}>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="brand" href="/">pbnj-worker</a>
<nav aria-label="Pages of the worker">${places}</nav>
<div class="worker">
<span id="live" role="status"></span>
${isLive && html`<noscript><span>reloads every ${RELOAD_SECONDS} s</span></noscript>`}
<span>version ${version}</span>
<span>up ${tickingTime(begunMs, clock.monotonicMs(), begunAt)}</span>
</div>
</header>
<main id="main" tabindex="-1">
${view.blocks.map((block) => html`${block instanceof Html ? block : block.render()}\n`)}
</main>
</body>
</html>
`.text;
}
