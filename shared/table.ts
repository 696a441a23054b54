import { printableLine } from "./printable.ts";

/** The length to which cells are cut, except in the last column, so that the columns after them stay visible. */
const CELL_LIMIT = 100;
/** The width of a cell of wide characters. Wider cells occur only in the last column, and no other row is padded to them. */
const WIDEST = 2 * CELL_LIMIT;

/**
 * Formats text in columns that are as wide as their widest cell. Cells are aligned to the left, or to the right in the given
 * columns. They may quote a BMC, so they are made printable first.
 */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  toTheRight: readonly number[] = [],
): string {
  const last = head.length - 1;
  const clean = rows.map((row) =>
    row.map((cell, column) =>
      column === last ? printableLine(cell).trim() : cut(printableLine(cell).trim()),
    ),
  );
  const widths = head.map((title, column) => {
    const widest = clean.reduce(
      (most, row) => Math.max(most, textWidth(row[column] ?? "")),
      textWidth(title),
    );
    return Math.min(widest, WIDEST);
  });
  const pad = (cell: string, column: number) => {
    const space = " ".repeat(Math.max(0, (widths[column] ?? 0) - textWidth(cell)));
    return toTheRight.includes(column) ? `${space}${cell}` : `${cell}${space}`;
  };
  const line = (row: readonly string[]) => row.map(pad).join("  ").trimEnd();
  return [
    line(head),
    widths.map((columns) => "-".repeat(Math.min(columns, CELL_LIMIT))).join("  "),
    ...clean.map(line),
  ].join("\n");
}

function cut(line: string): string {
  const characters = Array.from(line);
  return characters.length <= CELL_LIMIT ? line : `${characters.slice(0, CELL_LIMIT - 1).join("")}…`;
}

const WIDE =
  /[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303e\uff01-\uff60\p{Emoji_Presentation}]/u;
const COMBINING = /\p{M}/u;

/** Returns the number of terminal columns that a text takes. */
export function textWidth(text: string): number {
  let columns = 0;
  for (const character of text) columns += characterWidth(character);
  return columns;
}

/** Returns the beginning of a text that takes at most `most` columns. */
export function fitted(text: string, most: number): string {
  let [columns, length] = [0, 0];
  for (const character of text) {
    columns += characterWidth(character);
    if (columns > most) return text.slice(0, length);
    length += character.length;
  }
  return text;
}

function characterWidth(character: string): number {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
