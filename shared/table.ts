/**
 * Text in columns as wide as their widest cell, for people. Cells line up to the left, or to the right in the
 * columns named.
 */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  toTheRight: readonly number[] = [],
): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number) => {
    const width = widths[column] ?? 0;
    return toTheRight.includes(column) ? cell.padStart(width) : cell.padEnd(width);
  };
  const line = (row: readonly string[]) => row.map(pad).join("  ").trimEnd();
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}
