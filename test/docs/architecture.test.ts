import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const page = await readFile("docs/architecture.md", "utf8");

/** Folders whose subfolders need a row each. The other folders of the table have no such rule. */
const PARENTS = ["worker", "shared", "shared/bmc", "actions/harness"];

function section(heading: string): string {
  const [, rest = ""] = page.split(`\n## ${heading}\n`);
  return rest.split(/^## /m)[0] ?? "";
}

const rows = [...section("Folders").matchAll(/^\| `([\w/-]+)\/` \| (.+) \|$/gm)].map(
  ([, folder = ""]) => folder,
);

async function foldersBelow(parent: string): Promise<readonly string[]> {
  const entries = await readdir(parent, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${parent}/${name}`);
}

describe("the folder table of docs/architecture.md", () => {
  it.each(PARENTS)("has a row for each folder below %s/, and no other row", async (parent) => {
    const inTable = rows.filter((folder) => dirname(folder) === parent);

    expect(inTable.toSorted()).toEqual((await foldersBelow(parent)).toSorted());
  });

  it("has one row per folder, and names no folder that does not exist", async () => {
    const missing = await Promise.all(
      rows.map((folder) =>
        readdir(folder).then(
          () => [],
          () => [folder],
        ),
      ),
    );

    expect(missing.flat()).toEqual([]);
    expect(rows).toEqual([...new Set(rows)]);
    expect(rows).toEqual(expect.arrayContaining([...PARENTS, "actions", "cli", "test", "deploy"]));
  });
});

it("worker/ itself holds at most six files", async () => {
  const entries = await readdir("worker", { withFileTypes: true });

  expect(entries.filter((entry) => entry.isFile()).length).toBeLessThanOrEqual(6);
});

describe("the walk through one action", () => {
  it("names files that exist, each below the folder of its step", async () => {
    const steps = section("One action, from poll to report").split(/^\d+\. /m);
    const missing: string[] = [];
    for (const step of steps) {
      const [, folder = "."] = /^\*\*[^*]*`([\w/-]+)\/`\.\*\*/.exec(step) ?? [];
      const named = [...step.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = ""]) => file);
      for (const file of named) {
        if (!existsSync(file) && !existsSync(join(folder, file))) missing.push(`${folder}: ${file}`);
      }
    }

    expect(steps.length).toBeGreaterThan(6);
    expect(missing).toEqual([]);
  });
});
