import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const PAGES = "docs/reference/workarounds";
/** A reason may follow the state. */
const STATE = /^(handled|right without a change|does not apply)(: |; |$)/;

/** The rows of a page: their number, their state, and the last cell, which has the test of what is handled. */
function rowsOf(page: string) {
  const lines = readFileSync(`${PAGES}/${page}`, "utf8").split("\n");
  return lines.flatMap((line) => {
    const cells = line.replace(/^\| | \|$/g, "").split(" | ");
    const [id = ""] = cells;
    const state = cells.flatMap((cell) => STATE.exec(cell)?.[1] ?? [])[0];
    return /^[RI]W\d+$/.test(id) ? [{ id, state, test: cells.at(-1) ?? "" }] : [];
  });
}

/** Whether the file has a test with this title. */
function hasTest(cell: string): boolean {
  const [, file, title] = /^(test\/\S+\.test\.ts): (.+)$/.exec(cell) ?? [];
  if (file === undefined || title === undefined) return false;
  return readFileSync(file, "utf8").includes(title);
}

describe.each(readdirSync(PAGES))("%s", (page) => {
  it("has each row once, with a state", () => {
    const rows = rowsOf(page);

    expect(rows.length).toBeGreaterThan(100);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    expect(rows.filter(({ state }) => state === undefined)).toEqual([]);
  });

  it("names a test that exists for each row that is handled", () => {
    const missing = rowsOf(page).filter(({ state, test }) => state === "handled" && !hasTest(test));

    expect(missing).toEqual([]);
  });
});
