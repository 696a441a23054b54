/** The style sheet: light or dark as the system setting, tables as cards on narrow screens. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f7f9, #0f1216);
  --card: light-dark(#ffffff, #171b21);
  --line: light-dark(#d9dee5, #2a313a);
  --text: light-dark(#16191d, #e6e9ed);
  --dim: light-dark(#59636e, #98a2ae);
  --link: light-dark(#0b57b7, #7db4ff);
  --good: light-dark(#136c39, #62d392);
  --bad: light-dark(#b3201f, #ff8a80);
  --bad-ground: light-dark(#fdeceb, #35191a);
  --busy: light-dark(#0b57b7, #7db4ff);
  --wait: light-dark(#7a5200, #f0bd5a);
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0 auto; padding: 0 1.25rem 3rem; max-width: 110rem;
  background: var(--ground); color: var(--text);
  font: 15px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -100rem; }
.skip:focus { position: static; }
header { display: flex; flex-wrap: wrap; gap: .4rem 1.5rem; align-items: baseline; padding: .9rem 0; }
header .brand { font-weight: 700; font-size: 1.05rem; color: var(--text); text-decoration: none; }
header nav { display: flex; gap: 1.1rem; }
header nav a { text-decoration: none; padding-bottom: 2px; }
header nav a[aria-current] { color: var(--text); border-bottom: 2px solid var(--link); }
header .worker { margin-left: auto; color: var(--dim); display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; }
#live:empty { display: none; }
#live[data-state="live"] { color: var(--good); }
#live[data-state="away"] { color: var(--bad); font-weight: 600; }
h1 { font-size: 1.4rem; margin: .6rem 0 1rem; overflow-wrap: anywhere; }
h1 .kind { color: var(--dim); font-weight: 400; }
h1.quiet { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
h2 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; }
h2 .count, h2 .aside { color: var(--dim); font-weight: 400; }
.dim, .note { color: var(--dim); }
.note { font-size: .9em; }
.counts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(8.2rem, 1fr)); gap: .6rem;
  list-style: none; margin: 0 0 1rem; padding: 0;
}
.counts a {
  display: block; height: 100%; padding: .6rem .8rem; color: inherit; text-decoration: none;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
}
.counts a:hover { border-color: var(--link); }
.counts b { display: block; font-size: 1.5rem; line-height: 1.2; }
.counts span { color: var(--dim); }
.counts .bad a { background: var(--bad-ground); border-color: var(--bad); }
.counts .bad b, .counts .bad span { color: var(--bad); }
.search { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 1rem 0 0; }
.search label { color: var(--dim); }
.search input[type="search"] { flex: 0 1 20rem; min-width: 8rem; }
input, button {
  font: inherit; color: inherit; padding: .35rem .6rem;
  background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
}
button { cursor: pointer; }
.states { display: flex; flex-wrap: wrap; gap: .3rem .9rem; margin: .8rem 0 0; }
.states a[aria-current] { color: var(--text); font-weight: 600; text-decoration: none; }
.beside { float: right; margin-top: 1rem; }
.pager { display: flex; flex-wrap: wrap; gap: 1rem; margin: .6rem 0; color: var(--dim); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .45rem .75rem; border-top: 1px solid var(--line); }
thead th { color: var(--dim); font-weight: 500; font-size: .87em; border-top: 0; white-space: nowrap; }
tbody th { font-weight: 600; overflow-wrap: anywhere; min-width: 9.5rem; }
td[data-label="Machine"] { min-width: 9.5rem; }
td { overflow-wrap: anywhere; }
td.reason { min-width: 18rem; width: 40%; }
time { white-space: nowrap; }
.badge { white-space: nowrap; font-weight: 600; }
.badge.succeeded, .badge.on, .badge.polling { color: var(--good); }
.badge.failed, .badge.failing { color: var(--bad); }
.badge.running, .badge.busy { color: var(--busy); }
.badge.waiting, .badge.unknown { color: var(--wait); }
.badge.off { color: var(--dim); }
.facts dl {
  display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.5rem; margin: 0; padding: .8rem 1rem;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
}
.facts dt { color: var(--dim); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.log {
  list-style: none; margin: 0; padding: .7rem 1rem; max-height: 36rem; overflow: auto;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  font: 13px/1.55 ui-monospace, "DejaVu Sans Mono", monospace;
}
.log li { display: flex; gap: .8rem; }
.log time, .log b { color: var(--dim); font-weight: 400; }
.log b { flex: 0 0 2.8rem; }
.log span { white-space: pre-wrap; overflow-wrap: anywhere; }
.log .warn b { color: var(--wait); }
.log .error b, .log .error span { color: var(--bad); }
@media (prefers-reduced-motion: no-preference) {
  tr.changed { animation: changed 1.5s ease-out; }
  @keyframes changed { from { background: color-mix(in srgb, var(--link) 22%, transparent); } }
}
@media (max-width: 48rem) {
  body { padding: 0 .75rem 2rem; }
  header .worker { margin-left: 0; width: 100%; }
  .counts { grid-template-columns: repeat(auto-fit, minmax(6rem, 1fr)); }
  .beside { float: none; margin: 0; }
  .scroll { border: 0; background: none; }
  table, tbody, tr, th, td { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; margin: 0 0 .6rem; padding: .3rem 0; }
  th, td, td.reason { border: 0; padding: .15rem .8rem; width: auto; min-width: 0; }
  td[data-label] { position: relative; padding-left: 8.8rem; min-height: 1.75rem; }
  td[data-label]::before { content: attr(data-label); color: var(--dim); position: absolute; left: .8rem; width: 7.6rem; }
  td:has(> .nothing:only-child) { display: none; }
  .facts dl { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: .5rem; }
  .log li { flex-wrap: wrap; gap: 0 .8rem; }
}
`;
