/**
 * Updates pages in browsers with scripts: times advance, and rows are replaced as the worker sends them. Pages are complete
 * without it. `assets.ts` adds `elapsedText`.
 */
const SILENCE_MS = 45_000;
const AGAIN_MS = 10_000;
const body = document.body;
const live = document.getElementById("live");
const beganAt = new WeakMap();
let seen = body.dataset.seen;
let source;
let isGone = false;
let heardMs = performance.now();
/** What comes at once is what the page had missed, not news. */
let newsFromMs = 0;

function startTimes(root) {
  const now = performance.now();
  for (const time of root.querySelectorAll("time[data-elapsed]"))
    beganAt.set(time, now - Number(time.dataset.elapsed));
}

function tick() {
  const now = performance.now();
  const isAway = live.dataset.state === "away";
  for (const time of document.querySelectorAll("time[data-elapsed]")) {
    // A worker that does not answer may have stopped: its uptime is unknown.
    if (isAway && time.closest("header")) continue;
    const text = elapsedText(now - beganAt.get(time)) + time.dataset.suffix;
    if (time.textContent !== text) time.textContent = text;
  }
  if (source && now - heardMs > SILENCE_MS) connect();
}

function say(state, text) {
  live.dataset.state = state;
  if (live.textContent !== text) live.textContent = text;
}

function replaceRow(old, row) {
  const focusable = "a, summary";
  const focused = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
  const isOpen = old.querySelector("details")?.open;
  old.replaceWith(row);
  if (isOpen) row.querySelector("details")?.setAttribute("open", "");
  if (focused >= 0) row.querySelectorAll(focusable)[focused]?.focus();
}

function updateSection(element, { rows = {}, order }) {
  const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 8;
  const present = new Map([...element.children].map((row) => [row.dataset.row, row]));
  const template = document.createElement("template");
  for (const [id, markup] of Object.entries(rows)) {
    template.innerHTML = markup.trim();
    const row = template.content.firstElementChild;
    if (performance.now() > newsFromMs) row.classList.add("changed");
    const old = present.get(id);
    if (old) replaceRow(old, row);
    else element.append(row);
    present.set(id, row);
    startTimes(row);
  }
  if (order) {
    const wanted = new Set(order);
    for (const [id, row] of present) if (!wanted.has(id)) row.remove();
    let next = element.firstElementChild;
    for (const id of order) {
      const row = present.get(id);
      if (!row) continue;
      if (row === next) next = next.nextElementSibling;
      else element.insertBefore(row, next);
    }
  }
  if (element.classList.contains("log") && atEnd) element.scrollTop = element.scrollHeight;
}

function update({ data, lastEventId }) {
  heardMs = performance.now();
  for (const [id, change] of Object.entries(JSON.parse(data))) {
    const element = document.querySelector(`[data-section="${CSS.escape(id)}"]`);
    // The page was sent before there was such a section, for example a new rack.
    if (!element) return location.reload();
    updateSection(element, change);
  }
  if (lastEventId) seen = lastEventId;
}

function connect() {
  disconnect();
  heardMs = performance.now();
  source = new EventSource(`${body.dataset.events}&seen=${encodeURIComponent(seen)}`);
  source.addEventListener("open", () => {
    newsFromMs = performance.now() + 1000;
    say("live", "● live");
  });
  source.addEventListener("update", update);
  source.addEventListener("beat", () => {
    heardMs = performance.now();
  });
  source.addEventListener("gone", () => {
    isGone = true;
    disconnect();
    say("away", "no longer kept by the worker");
  });
  source.addEventListener("error", () => {
    const refused = source?.readyState === EventSource.CLOSED;
    say("away", refused ? "○ not live" : "○ no connection to the worker");
    if (!refused) return;
    disconnect();
    setTimeout(connectIfSeen, AGAIN_MS);
  });
}

function disconnect() {
  source?.close();
  source = undefined;
}

/** A browser has few connections for all of its pages: hidden pages close theirs. */
function connectIfSeen() {
  if (document.hidden) disconnect();
  else if (!source && !isGone) connect();
}

startTimes(document);
setInterval(tick, 1000);
const log = document.querySelector("ol.log");
if (log) log.scrollTop = log.scrollHeight;
if (body.dataset.events) {
  connectIfSeen();
  document.addEventListener("visibilitychange", connectIfSeen);
}
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});
addEventListener("pagehide", disconnect);
