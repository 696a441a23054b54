import { describe, expect, it } from "vitest";
import { formatTable, tableRows, textWidth } from "../../shared/table.ts";

describe("a table", () => {
  it("has columns as wide as their widest cell, without blanks at the end of a line", () => {
    const text = formatTable(
      ["name", "size"],
      [
        ["a", "1"],
        ["longer", "20"],
      ],
      [1],
    );

    expect(text).toBe("name    size\n------  ----\na          1\nlonger    20");
  });

  it("without rows is its head", () => {
    expect(formatTable(["name", "id"], [])).toBe("name  id\n----  --");
  });

  it.each([
    ["a line break", "a\nb\r\nc"],
    ["a tab", "a\tb\tc"],
    ["separators of lines and paragraphs", "a\u2028b\u2029c"],
  ])("shows %s in a cell as a blank", (_, cell) => {
    expect(formatTable(["head", "end"], [[cell, "|"]]).split("\n")).toEqual([
      "head   end",
      "-----  ---",
      "a b c  |",
    ]);
  });

  it.each([
    ["an escape sequence's beginning", "a\u001bb", String.raw`a\u001bb`],
    ["a change of direction", "a\u202eb", String.raw`a\u202eb`],
    ["half a character", "a\ud800b", String.raw`a\ud800b`],
  ])("spells %s in a cell out", (_, cell, shown) => {
    expect(formatTable(["head", "end"], [[cell, "|"]]).split("\n")[2]).toBe(`${shown}  |`);
  });

  it("lines up what is as wide as two letters, and what is put above another", () => {
    const rows = ["日本", "ab\u0301cd", "🔥xx", "한글"].map((cell) => [cell, "|"]);

    expect(formatTable(["head", "end"], rows).split("\n").slice(2)).toEqual([
      "日本  |",
      "ab\u0301cd  |",
      "🔥xx  |",
      "한글  |",
    ]);
  });

  it("cuts a cell that would push the others out of sight, and not the last", () => {
    const long = "x".repeat(500);

    const lines = formatTable(["head", "end"], [[long, long]]).split("\n");

    expect(lines[2]).toBe(`${"x".repeat(99)}…  ${long}`);
    expect(lines[1]).toBe(`${"-".repeat(100)}  ${"-".repeat(100)}`);
  });

  const labels = "rack=r12,row=b,role=worker";
  const longName = "gpu-training-node-with-a-long-name-17.dc4.example.org";

  it.each([
    ["plain names", [["node-1", "192.0.2.1", labels, ""]]],
    ["a long name", [[longName, "192.0.2.1", labels, "fan replacement"]]],
    ["wide characters", [["計算機".repeat(20), "192.0.2.1", labels, "故障".repeat(30)]]],
    ["a fingerprint", [["node-1", "192.0.2.1", "AB:".repeat(31), "x".repeat(300)]]],
  ])("fits each width with %s, and nothing of a cell is missing", (_, rows) => {
    for (const width of [120, 80, 60, 40, 20, 2]) {
      const text = formatTable(["machine", "host", "labels", "paused"], rows, [], width);

      expect(Math.max(...text.split("\n").map(textWidth))).toBeLessThanOrEqual(Math.max(width, 6));
      const seen = text.replace(/\s/g, "");
      for (const cell of rows[0] ?? []) if (width < 120) expect(wordsIn(seen, cell)).toBe(true);
    }
  });

  it("wraps its last column if there is room, and is a block per row if there is not", () => {
    const rows = [["node-1", "", "one two three four five six seven eight"]];
    const inColumns = formatTable(["machine", "host", "message"], rows, [], 40);
    const inBlocks = formatTable(["machine", "host", "message"], rows, [], 30);

    expect(inColumns.split("\n").slice(2)).toEqual([
      "node-1         one two three four five",
      "               six seven eight",
    ]);
    expect(inBlocks).toBe("node-1\n  message: one two three four\n    five six seven eight");
  });

  it("has rows that are printed one by one, with or without a head", () => {
    const row = ["problem", "inventory", "one two three four five six"];
    const widths = [7, 15, Number.POSITIVE_INFINITY];

    const at = (width?: number) => tableRows({ widths, width }).row(row);

    expect(at()).toBe("problem  inventory        one two three four five six");
    expect(at(50)).toBe("problem  inventory        one two three four five\n                          six");
    expect(at(20)).toBe("problem  inventory\n  one two three four\n    five six");
  });
});

/** Whether a cell is in a table without blanks, which may be divided but has lost nothing. */
function wordsIn(seen: string, cell: string): boolean {
  return seen.includes(cell.replace(/\s/g, ""));
}
