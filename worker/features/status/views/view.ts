import { createHash } from "node:crypto";
import { printableLine } from "../../../../shared/printable.ts";
import { type Html, html } from "./html.ts";

/** A part of a page that is replaced as a whole: an element with `data-row`, whose ID is unique in its section. */
export interface Row {
  readonly id: string;
  /** Changes with the element. Elapsed time does not count, because pages advance it themselves. */
  readonly version: string;
  render(): Html;
}

/** An element with `data-section` whose children are rows. */
export interface Section {
  readonly id: string;
  readonly rows: readonly Row[];
}

/** The content of one address. */
export interface View {
  readonly status: 200 | 404;
  readonly title: string;
  /** The parts that are updated. */
  readonly sections: readonly Section[];
  /** The main part of the page, with all sections. */
  render(): Html;
}

/** A row ID for a name: the name itself, unless a page would display it differently. */
export function rowId(name: string): string {
  return printableLine(name) === name ? name : hashOf(name);
}

/** A row whose version is its markup. */
export function textRow(id: string, element: Html): Row {
  return { id, version: hashOf(element.text), render: () => element };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/** The rows, or a row that says that there are none. */
export function orNone(rows: readonly Row[], none: (id: string) => Html): readonly Row[] {
  return rows.length > 0 ? rows : [textRow("none", none("none"))];
}

export function renderRows({ rows }: Section): readonly Html[] {
  return rows.map((row) => row.render());
}

/** A changing number in a heading. */
export function countSection(id: string, count: number, label = String(count)): Section {
  return { id, rows: [textRow("count", html`<span data-row="count">${label}</span>`)] };
}
