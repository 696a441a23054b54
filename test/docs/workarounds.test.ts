import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const PAGES = "docs/reference/workarounds";
/** Where the tests of a page are that it names without a folder. */
const TESTS: Readonly<Record<string, string>> = {
  "redfish.md": "test/shared/bmc/providers/redfish",
  "ipmi.md": "test/shared/bmc/providers/ipmi",
};

/** The rows of a page: number, state, and file and title of the test. */
function rowsOf(page: string) {
  const lines = readFileSync(`${PAGES}/${page}`, "utf8").split("\n");
  return lines.flatMap((line) => {
    const cells = line.split(" | ");
    const [, id] = /^\| ((?:RW|IW)\d+)$/.exec(cells[0] ?? "") ?? [];
    const [, file, title] = /^`([^`]+)`: (.+?) \|$/.exec(cells[4] ?? "") ?? [];
    return id === undefined ? [] : [{ id, state: cells[2], file, title }];
  });
}

describe.each(readdirSync(PAGES).filter((page) => page in TESTS))("%s", (page) => {
  const rows = rowsOf(page);

  it("has a test for each row that is handled, and only for these", () => {
    expect(rows.length).toBeGreaterThan(0);
    for (const { id, state, title } of rows) {
      expect([id, title !== undefined]).toEqual([id, state === "handled"]);
    }
  });

  it("names tests that exist", () => {
    const missing = rows.filter(({ file, title = "" }) => {
      if (file === undefined) return false;
      const path = file.startsWith("test/") ? file : `${TESTS[page]}/${file}`;
      return !readFileSync(path, "utf8").includes(title);
    });

    expect(missing).toEqual([]);
  });
});
