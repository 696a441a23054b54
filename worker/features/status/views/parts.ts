import { type Html, html } from "./html.ts";
import { addressOf, type Page, type Query } from "./query.ts";
import { type Column, type RowKind, tableRow } from "./table-row.ts";
import { countSection, renderRows, type Section, textRow } from "./view.ts";

/** A table whose rows change, under a heading with their number. Without rows it is not shown. */
export interface TablePart {
  readonly id: string;
  readonly heading: string;
  readonly heads: readonly Html[];
  readonly section: Section;
  /** How many there are, including those on other pages. */
  readonly count: Section;
  /** Below the table: links to other pages, or to the rest. */
  readonly more: Section;
  /** Shown if there are no rows. */
  readonly none: string | undefined;
}

export interface TableFacts<T> {
  readonly id: string;
  readonly heading: string;
  readonly kind: RowKind<T>;
  readonly items: readonly T[];
  readonly nowMs: number;
  /** Including those on other pages. Default: the number of items. */
  readonly count?: number;
  /** Shown if there are no rows; without it, neither is the heading. */
  readonly none?: string;
  readonly more?: Html | undefined;
  /** Makes heads of columns links that sort. */
  readonly sort?: Sort;
}

interface Sort {
  readonly path: string;
  readonly query: Query;
}

export function tablePart<T>({ id, heading, kind, items, nowMs, ...facts }: TableFacts<T>): TablePart {
  const { count = items.length, none, more, sort } = facts;
  return {
    id,
    heading,
    heads: kind.columns.map((column) => headOf(column, sort)),
    section: { id, rows: items.map((one) => tableRow(kind, one, nowMs)) },
    count: countSection(`${id}-count`, count),
    more: moreSection(id, more),
    none,
  };
}

/** Below a list: links to its other pages, or to the rest. */
export function moreSection(id: string, more: Html | undefined): Section {
  return {
    id: `${id}-more`,
    rows: more ? [textRow("more", html`<div data-row="more">${more}</div>`)] : [],
  };
}

function headOf<T>({ head, sort: sortedBy }: Pick<Column<T>, "head" | "sort">, sort: Sort | undefined): Html {
  const key = sortedBy?.[0];
  if (!sort || key === undefined) return html`<th scope="col">${head}</th>`;
  const { path, query } = sort;
  const direction = query.sort === key ? "ascending" : query.sort === `-${key}` && "descending";
  const next = direction === "ascending" ? `-${key}` : key;
  const mark = direction && html` <span aria-hidden="true">${direction === "ascending" ? "▲" : "▼"}</span>`;
  const state = direction && html` aria-sort="${direction}"`;
  return html`<th scope="col"${state}><a href="${addressOf(path, { ...query, sort: next, page: 1 })}">${head}${mark}</a></th>`;
}

export function sectionsOf(parts: readonly TablePart[]): readonly Section[] {
  return parts.flatMap(({ section, count, more }) => [count, section, more]);
}

/** The style sheet hides what has no rows, also when a script removes the last one. */
export function renderTable({ id, heading, heads, section, count, more, none }: TablePart): Html {
  return html`<section id="${id}" class="table${none === undefined && " optional"}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${heading} <span class="count" data-section="${count.id}">${renderRows(count)}</span></h2>
<div class="scroll"><table aria-labelledby="${id}-heading">
<thead><tr>${heads}</tr></thead>
<tbody data-section="${section.id}">${renderRows(section)}</tbody>
</table></div>
${none !== undefined && html`<p class="none dim">${none}</p>`}
<div data-section="${more.id}">${renderRows(more)}</div>
</section>`;
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

/** A link to the rest of a list. */
export function allLink(count: number, shown: number, href: string, what: string): Html | undefined {
  return count > shown ? html`<p><a href="${href}">All ${count} ${what}</a></p>` : undefined;
}

/** A search form that works without scripts. */
export function searchForm(path: string, query: Query, label: string): Html {
  const { text, state, class: errorClass, sort } = query;
  const kept = Object.entries({ state, class: errorClass, sort }).filter(([, value]) => value !== "");
  return html`<form class="search" role="search" action="${path}" method="get">
<label for="q">${label}</label>
<input id="q" name="q" type="search" value="${text}" maxlength="100" autocomplete="off" spellcheck="false">
${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button type="submit">Find</button>
${(text !== "" || kept.length > 0) && html`<a href="${path}">Show all</a>`}
</form>`;
}

/** Links that filter a list by state; `label` is what a link shows. */
export function stateLinks(
  path: string,
  query: Query,
  states: readonly string[],
  label: (state: string) => Html | string = (state) => state,
): Html {
  const links = ["", ...states].map((state) => {
    const current = state === query.state && html` aria-current="true"`;
    return html`<a href="${addressOf(path, { ...query, state, page: 1 })}"${current}>${state === "" ? "any" : label(state)}</a>`;
  });
  return html`<nav class="states" aria-label="State">${links}</nav>`;
}
