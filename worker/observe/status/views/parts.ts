import { type Html, html } from "./html.ts";
import { addressOf, type Page, type Query } from "./query.ts";
import { countSection, orNone, renderRows, type Section, textRow } from "./view.ts";

/** A table whose rows change, under a heading with their number. */
export interface TablePart {
  readonly id: string;
  readonly heading: string;
  readonly columns: readonly string[];
  readonly section: Section;
  /** How many there are, including those on other pages. */
  readonly count: Section;
  /** Below the table: links to other pages, or to the rest. */
  readonly more: Section;
}

export function tablePart(facts: {
  readonly id: string;
  readonly heading: string;
  readonly columns: readonly string[];
  readonly rows: Section["rows"];
  /** Shown if there are no rows. */
  readonly none: string;
  readonly count: number;
  readonly more?: Html | undefined;
}): TablePart {
  const { id, heading, columns, none, count, more } = facts;
  const rows = orNone(facts.rows, (rowId) => emptyRow(rowId, columns.length, none));
  return {
    id,
    heading,
    columns,
    section: { id, rows },
    count: countSection(`${id}-count`, count),
    more: {
      id: `${id}-more`,
      rows: more ? [textRow("more", html`<div data-row="more">${more}</div>`)] : [],
    },
  };
}

function emptyRow(id: string, columns: number, text: string): Html {
  return html`<tr data-row="${id}"><td class="dim" colspan="${columns}">${text}</td></tr>`;
}

export function sectionsOf(parts: readonly TablePart[]): readonly Section[] {
  return parts.flatMap(({ section, count, more }) => [count, section, more]);
}

export function renderTable({ id, heading, columns, section, count, more }: TablePart): Html {
  const heads = columns.map((column) => html`<th scope="col">${column}</th>`);
  return html`<section id="${id}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${heading} <span class="count" data-section="${count.id}">${renderRows(count)}</span></h2>
<div class="scroll"><table aria-labelledby="${id}-heading">
<thead><tr>${heads}</tr></thead>
<tbody data-section="${section.id}">${renderRows(section)}</tbody>
</table></div>
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
export function searchForm(path: string, { text, state }: Query, label: string): Html {
  return html`<form class="search" role="search" action="${path}" method="get">
<label for="q">${label}</label>
<input id="q" name="q" type="search" value="${text}" maxlength="100" autocomplete="off" spellcheck="false">
${state !== "" && html`<input type="hidden" name="state" value="${state}">`}
<button type="submit">Find</button>
${(text !== "" || state !== "") && html`<a href="${path}">Show all</a>`}
</form>`;
}

/** Links that filter a list by state. */
export function stateLinks(path: string, query: Query, states: readonly string[]): Html {
  const links = ["", ...states].map((state) => {
    const current = state === query.state && html` aria-current="true"`;
    return html`<a href="${addressOf(path, { ...query, state, page: 1 })}"${current}>${state || "any"}</a>`;
  });
  return html`<nav class="states" aria-label="State">${links}</nav>`;
}
