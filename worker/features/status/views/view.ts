import type { Clock } from "../../../../shared/clock.ts";
import { SELECTOR_SYNTAX, Selector } from "../../../document/labels.ts";
import type { WorkerFacts } from "../../shared/facts.ts";
import type { Board } from "../board/board.ts";
import { Html, type HtmlValue, html } from "./html.ts";
import { addressOf, type Page, pageOf, type Query, sorted } from "./query.ts";

/** The sources of pages. */
export interface Sources {
  readonly board: Board;
  readonly facts: WorkerFacts;
  readonly clock: Clock;
  /** Start of the worker, on the monotonic clock. */
  readonly begunMs: number;
  readonly begunAt: Date;
}

/** The content of one address. */
export interface View {
  readonly status: 200 | 404;
  readonly title: string;
  readonly blocks: readonly (Html | Block)[];
}

/** A part of a page whose sections are updated. */
export interface Block {
  readonly sections: readonly Section[];
  render(): Html;
}

/** An element with `data-section` whose children are rows. */
export interface Section {
  readonly id: string;
  readonly rows: readonly Row[];
}

/** A part of a page that is replaced as a whole: an element with `data-row`, whose ID is unique in its section. */
export interface Row {
  readonly id: string;
  /** Changes whenever the element changes. */
  readonly version: string;
  render(): Html;
}

export function sectionsOf({ blocks }: View): readonly Section[] {
  return blocks.flatMap((block) => (block instanceof Html ? [] : block.sections));
}

/** A row ID from an untrusted name. */
export function rowId(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}

export function row(id: string, element: Html): Row {
  return { id, version: element.version, render: () => element };
}

/** Combines sections with the markup that contains their rows. */
export function block(sections: readonly Section[], markup: (...rows: readonly Html[][]) => Html): Block {
  return { sections, render: () => markup(...sections.map(({ rows }) => rows.map((one) => one.render()))) };
}

/** Combines blocks in one element. */
export function inside(className: string, blocks: readonly Block[]): Block {
  return {
    sections: blocks.flatMap(({ sections }) => sections),
    render: () => html`<div class="${className}">${blocks.map((one) => one.render())}</div>`,
  };
}

/** How lists show one kind of thing. */
export interface Kind<T> {
  readonly id: (one: T) => string;
  /** The columns; the first one is the row's heading. */
  readonly columns: readonly Column<T>[];
}

interface Column<T> {
  readonly head: string;
  readonly class?: "time" | "reason" | "bar" | "name";
  /** The key of `?sort=` and the value to sort by. */
  readonly sort?: readonly [key: string, value: (one: T) => string | number];
  readonly show: (one: T, nowMs: number) => HtmlValue;
}

/** A list under a heading with its number. */
interface List {
  readonly id: string;
  readonly heading: string;
  /** Controls next to the heading. */
  readonly controls?: Html;
  /** The number of items, including those on other pages. */
  readonly count: number;
  /** Text for an empty list. Without it, the heading is hidden as well. */
  readonly none?: string | undefined;
  /** Set for one of several parts of a list, which has a smaller heading: as wide as the page, or a narrow block. */
  readonly part?: "wide" | "narrow";
  /** Links below the list, for example to other pages. */
  readonly more?: Html | undefined;
}

export function list(about: List, rows: readonly Row[], container: (rows: readonly Html[]) => Html): Block {
  const { id, heading, controls, count, none, more, part } = about;
  const sections = [
    { id, rows },
    { id: `${id}-count`, rows: [row("count", html`<span data-row="count">${count}</span>`)] },
    { id: `${id}-more`, rows: more ? [row("more", html`<div data-row="more">${more}</div>`)] : [] },
  ];
  // The style sheet hides lists without rows, even when a script removes the last row.
  return block(
    sections,
    (
      shown = [],
      counted = [],
      rest = [],
    ) => html`<section id="${id}" class="list${none === undefined && " optional"}${part && ` part ${part}`}" aria-labelledby="${id}-heading">
<div class="controls"><h2 id="${id}-heading">${heading} <span class="count" data-section="${id}-count">${counted}</span></h2>${controls}</div>
${container(shown)}
${none !== undefined && html`<p class="none dim">${none}</p>`}
<div data-section="${id}-more">${rest}</div>
</section>`,
  );
}

/** A list as a table. With `path` and `query`, the column heads are links that sort. */
export function table<T>(
  about: Omit<List, "count"> & { readonly count?: number; readonly path?: string; readonly query?: Query },
  { id: idOf, columns }: Kind<T>,
  items: readonly T[],
  nowMs: number,
): Block {
  const { id, path, query, count = items.length } = about;
  const rows = items.map((one) => {
    const cells = columns.map(({ head, class: of, show }, index) =>
      index === 0
        ? html`<th scope="row" data-label="${head}">${show(one, nowMs)}</th>\n`
        : html`<td data-label="${head}"${of && html` class="${of}"`}>${show(one, nowMs)}</td>\n`,
    );
    return row(idOf(one), html`<tr data-row="${idOf(one)}">\n${cells}</tr>`);
  });
  const heads = columns.map(({ head, class: of, sort: [key] = [undefined] }) => {
    const isReason = of === "reason" && html` class="reason"`;
    if (path === undefined || !query || key === undefined)
      return html`<th scope="col"${isReason}>${head}</th>`;
    const direction = query.sort === key ? "ascending" : query.sort === `-${key}` && "descending";
    const sort = direction === "ascending" ? `-${key}` : key;
    const mark = direction && html` <span aria-hidden="true">${direction === "ascending" ? "▲" : "▼"}</span>`;
    const state = direction && html` aria-sort="${direction}"`;
    return html`<th scope="col"${isReason}${state}><a href="${addressOf(path, { ...query, sort, page: 1 })}">${head}${mark}</a></th>`;
  });
  return list(
    { ...about, count },
    rows,
    (shown) => html`<div class="scroll"><table aria-labelledby="${id}-heading">
<thead><tr>${heads}</tr></thead>
<tbody data-section="${id}">${shown}</tbody>
</table></div>`,
  );
}

const ROWS_PER_PAGE = 100;

/** What a query asks for that the page does not know. */
export function unknownText(
  { selector, sort }: Query,
  columns: readonly { readonly sort?: readonly [key: string, ...unknown[]] }[],
): Html | false {
  const keys = columns.flatMap(({ sort: [key] = [undefined] }) => key ?? []);
  const problems = [
    ...(sort === "" || keys.includes(sort.replace(/^-/, ""))
      ? []
      : [`There is no order by ${sort}: choose ${keys.join(", ")}.`]),
    ...(selector === "" || Selector.parse(selector)
      ? []
      : [`${selector} ${SELECTOR_SYNTAX.replace("must be", "is not")}.`]),
  ];
  return problems.length > 0 && html`<p class="mistake">${problems.join(" ")}</p>`;
}

/** A page with all items of one kind. */
export function listPage<T>(
  about: {
    readonly path: string;
    readonly heading: string;
    readonly states: readonly string[];
    /** The label of the search form. */
    readonly search: string;
    /** Whether what is listed has labels. */
    readonly hasLabels?: boolean;
  },
  kind: Kind<T>,
  items: readonly T[],
  query: Query,
  nowMs: number,
): View {
  const { path, heading, states, search } = about;
  const page = pageOf(sorted(items, query, kind.columns), ROWS_PER_PAGE, query);
  const more = pager(path, query, page);
  const facts = { id: path.slice(1), heading, path, query, count: page.all, none: "None.", more };
  return {
    status: 200,
    title: heading,
    blocks: [
      html`<h1 class="quiet">${heading}</h1>`,
      unknownText(query, kind.columns) || html``,
      searchForm(path, query, search, about.hasLabels),
      stateLinks(path, query, states),
      table(facts, kind, page.items, nowMs),
    ],
  };
}

type Fact = readonly [name: string, value: HtmlValue];
/** A fact that is left out if it has no value. */
export type MaybeFact = Fact | false | undefined | "";

/** A list of facts that is updated as a whole. */
export function facts(id: string, all: readonly MaybeFact[]): Block {
  const shown = all.flatMap((fact) =>
    fact && fact[1] !== undefined ? [html`<dt>${fact[0]}</dt><dd>${fact[1]}</dd>`] : [],
  );
  const section = { id: `${id}-facts`, rows: [row("facts", html`<dl data-row="facts">${shown}</dl>`)] };
  return block([section], (rows) => html`<div class="facts" data-section="${section.id}">${rows}</div>`);
}

/** Links to the other pages, if any. */
export function pager<T>(path: string, query: Query, page: Page<T>, anchor = ""): Html | undefined {
  const { number, pages, all } = page;
  if (pages === 1) return undefined;
  const link = (to: number, label: string, rel: string) =>
    html`<a rel="${rel}" href="${addressOf(path, { ...query, page: to })}${anchor}">${label}</a>`;
  return html`<nav class="pager" aria-label="Pages">
${number > 1 && link(number - 1, "← Previous", "prev")}
<span>Page ${number} of ${pages}, ${all} in all</span>
${number < pages && link(number + 1, "Next →", "next")}
</nav>`;
}

/** A search form that works without scripts. */
export function searchForm(
  path: string,
  { text, page: _, selector, ...filters }: Query,
  label: string,
  hasLabels = false,
): Html {
  const kept = Object.entries(filters).filter(([, value]) => value !== "");
  const isNarrowed = text !== "" || selector !== "" || kept.length > 0;
  const labels =
    hasLabels &&
    html`<label for="selector">Labels</label>
<input id="selector" name="selector" type="search" value="${selector}" maxlength="100" placeholder="rack=r12,role!=spare" autocomplete="off" spellcheck="false">`;
  return html`<form class="search" role="search" action="${path}" method="get">
<label for="q">${label}</label>
<input id="q" name="q" type="search" value="${text}" maxlength="100" autocomplete="off" spellcheck="false">
${labels}
${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button type="submit">Find</button>
${isNarrowed && html`<a href="${path}">Show all</a>`}
</form>`;
}

/** Links that filter a list by state; `label` is what a link shows. */
export function stateLinks(
  path: string,
  query: Query,
  states: readonly string[],
  label: (state: string) => HtmlValue = (state) => state,
): Html {
  const links = ["", ...states].map((state) => {
    const current = state === query.state && html` aria-current="true"`;
    return html`<a href="${addressOf(path, { ...query, state, page: 1 })}"${current}>${state === "" ? "any" : label(state)}</a>`;
  });
  return html`<nav class="states" aria-label="State">${links}</nav>`;
}
