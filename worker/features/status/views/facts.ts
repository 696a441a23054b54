import { type Html, type HtmlValue, html } from "./html.ts";
import { renderRows, type Section } from "./view.ts";

export type Fact = readonly [name: string, value: HtmlValue];

/** A list of facts that is updated as a whole. */
export function factSection(
  id: string,
  version: string,
  facts: () => readonly (Fact | false | undefined | "")[],
): Section {
  const render = () => {
    const rows = facts().flatMap((fact) => (fact ? [html`<dt>${fact[0]}</dt><dd>${fact[1]}</dd>`] : []));
    return html`<dl data-row="facts">${rows}</dl>`;
  };
  return { id: `${id}-facts`, rows: [{ id: "facts", version, render }] };
}

export function renderFacts(section: Section): Html {
  return html`<div class="facts" data-section="${section.id}">${renderRows(section)}</div>`;
}
