import { printableLine } from "./printable.ts";

/** The length to which cells are cut, except in the last column, so that the columns after them stay visible. */
const CELL_LIMIT = 100;
/** The width of a cell of wide characters. Wider cells occur only in the last column, and no other row is padded to them. */
const WIDEST = 2 * CELL_LIMIT;

/** With fewer columns for its text, the last cell is not wrapped beside the others: each row becomes a block of lines. */
const LEAST_LAST = 20;

/** The width of the terminal, or `COLUMNS`; undefined for files and pipes, which have no width. */
export function outputWidth(): number | undefined {
  const columns = process.stdout.columns ?? Number(process.env["COLUMNS"] ?? 0);
  return columns > 0 ? columns : undefined;
}

/**
 * Formats text in columns that are as wide as their widest cell. Cells are aligned to the left, or to the right in the given
 * columns. They may quote a BMC, so they are made printable first. Nothing is wider than `width`, see `tableRows`.
 */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  toTheRight: readonly number[] = [],
  width = outputWidth(),
): string {
  const clean = rows.map((row) => row.map((cell) => printableLine(cell).trim()));
  const widths = head.map((title, column) => {
    const widthOf = (cell: string) => textWidth(column === head.length - 1 ? cell : cut(cell));
    const widest = clean.reduce((most, row) => Math.max(most, widthOf(row[column] ?? "")), textWidth(title));
    return Math.min(widest, WIDEST);
  });
  const format = tableRows({ head, widths, toTheRight, width });
  return [...format.head, ...clean.map((row) => format.row(row))].join("\n");
}

/**
 * Formats the rows of a table whose column widths are known, for rows that are printed one by one. Within `width`, the last
 * cell is wrapped. If the other columns leave no room for it, a row is a block: its first cell, and a line for each other one.
 * Without `head`, all cells but the last share the block's first line.
 */
export function tableRows(about: {
  readonly head?: readonly string[];
  readonly widths: readonly number[];
  readonly toTheRight?: readonly number[];
  readonly width?: number | undefined;
}): { readonly head: readonly string[]; row(cells: readonly string[]): string } {
  const { head, widths, toTheRight = [], width = Number.POSITIVE_INFINITY } = about;
  const last = widths.length - 1;
  const before = widths.slice(0, last).reduce((sum, each) => sum + each + GAP.length, 0);
  if (before + Math.min(widths[last] ?? 0, LEAST_LAST) > width) {
    return { head: [], row: (cells) => blockOf(head, cells, width) };
  }
  const room = width - before;
  const pad = (cell: string, column: number) => {
    const isToTheRight = toTheRight.includes(column);
    // No blanks at the end of a line. The width of the last column may be unknown.
    if (column === last && !isToTheRight) return cell;
    const space = " ".repeat(Math.max(0, (widths[column] ?? 0) - textWidth(cell)));
    return isToTheRight ? `${space}${cell}` : `${cell}${space}`;
  };
  const row = (cells: readonly string[]) => {
    const [text = "", ...more] = wrapText(cells[last] ?? "", room);
    const first = [...cells.slice(0, last).map(cut), text].map(pad).join(GAP).trimEnd();
    return [first, ...more.map((line) => `${" ".repeat(before)}${line}`)].join("\n");
  };
  const rule = widths.map((columns, column) =>
    "-".repeat(Math.min(columns, CELL_LIMIT, column === last ? room : columns)),
  );
  return { head: head ? [row(head), rule.join(GAP)] : [], row };
}

const GAP = "  ";
const INDENT = "  ";

function blockOf(head: readonly string[] | undefined, cells: readonly string[], width: number): string {
  const titles = head ? 1 : cells.length - 1;
  const title = cells.slice(0, titles).filter(Boolean).join(GAP);
  const rest = cells
    .slice(titles)
    .map((cell, index) => (cell && head ? `${head[titles + index]}: ${cell}` : cell));
  const lines = rest.filter(Boolean).flatMap((text) => {
    const wrapped = wrapText(text, width - INDENT.length, width - 2 * INDENT.length);
    return wrapped.map((line, index) => `${index === 0 ? "" : INDENT}${INDENT}${line}`);
  });
  return [...wrapText(title, width).filter(Boolean), ...lines].join("\n");
}

/** Lines of at most `width` columns, the later ones of at most `later`. A word that is longer is split, if possible at a sign. */
function wrapText(text: string, width: number, later = width): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  for (let room = width; ; room = later) {
    const part = fitted(rest, Math.max(2, room));
    if (part.length === rest.length) return [...lines, rest];
    const space = rest[part.length] === " " ? part.length : part.lastIndexOf(" ");
    const sign = Math.max(...[",", ":", ";", "/"].map((one) => part.lastIndexOf(one) + 1));
    const end = [space, sign].find((at) => at > 0) ?? part.length;
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
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
