import { describe, expect, it } from "vitest";
import { formatTable } from "../../shared/table.ts";

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
});
