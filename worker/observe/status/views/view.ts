import { createHash } from "node:crypto";
import { printableLine } from "../../../../shared/printable.ts";
import { type Html, html } from "./html.ts";

/** One part of a page that changes as a whole: an element with `data-row`, told from the others of its section by its ID. */
export interface Row {
  readonly id: string;
  /** Differs when the element would; time that passes does not count, because pages tell it themselves. */
  readonly version: string;
  render(): Html;
}

/** An element with `data-section` whose children are rows. */
export interface Section {
  readonly id: string;
  readonly rows: readonly Row[];
}

/** What is at one address. */
export interface View {
  readonly status: 200 | 404;
  readonly title: string;
  /** What changes while somebody looks. */
  readonly sections: readonly Section[];
  /** The page's main part with all sections in it. */
  render(): Html;
}

/** A name as the ID of a row: as it is, unless a page would show another one in its place. */
export function rowId(name: string): string {
  return printableLine(name) === name ? name : hashOf(name);
}

/** A row that has no version but its own markup. */
export function textRow(id: string, element: Html): Row {
  return { id, version: hashOf(element.text), render: () => element };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/** The rows, or one that says that there are none. */
export function orNone(rows: readonly Row[], none: (id: string) => Html): readonly Row[] {
  return rows.length > 0 ? rows : [textRow("none", none("none"))];
}

export function renderRows({ rows }: Section): readonly Html[] {
  return rows.map((row) => row.render());
}

/** A number in a heading that changes. */
export function countSection(id: string, count: number, label = String(count)): Section {
  return { id, rows: [textRow("count", html`<span data-row="count">${label}</span>`)] };
}
