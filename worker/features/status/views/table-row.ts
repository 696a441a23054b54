import { type Html, type HtmlValue, html } from "./html.ts";
import { type Row, textRow } from "./view.ts";

/** How a table shows one kind of thing. */
export interface RowKind<T> {
  readonly id: (one: T) => string;
  /** Changes with the row; by default with its markup. */
  readonly version?: (one: T) => string;
  /** The first one is the heading of the row. */
  readonly columns: readonly Column<T>[];
}

export interface Column<T> {
  readonly head: string;
  /** On narrow screens, where it is not the head. */
  readonly label?: string;
  readonly class?: "time" | "reason" | "bar";
  /** What a list is sorted by with `?sort=`. */
  readonly sort?: readonly [key: string, value: (one: T) => string | number];
  readonly show: (one: T, nowMs: number) => HtmlValue;
}

export function tableRow<T>({ id, version, columns }: RowKind<T>, one: T, nowMs: number): Row {
  const row = id(one);
  const render = () => html`<tr data-row="${row}">
${columns.map((column, index) => cell(column, index === 0, one, nowMs))}</tr>`;
  return version ? { id: row, version: version(one), render } : textRow(row, render());
}

function cell<T>(
  { head, label = head, class: of, show }: Column<T>,
  isHead: boolean,
  one: T,
  nowMs: number,
): Html {
  if (isHead) return html`<th scope="row" data-label="${label}">${show(one, nowMs)}</th>\n`;
  return html`<td data-label="${label}"${of !== undefined && html` class="${of}"`}>${show(one, nowMs)}</td>\n`;
}
