import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const page = await readFile("docs/architecture.md", "utf8");

function section(heading: string): string {
  const [, rest = ""] = page.split(`\n## ${heading}\n`);
  return rest.split(/^## /m)[0] ?? "";
}

/** The folders of each row, and the text beside them. */
const rows = [...section("Folders").matchAll(/^\| (`[\w/-]+\/`(?:, `[\w/-]+\/`)*) \| (.+) \|$/gm)].map(
  ([, folders = "", text = ""]) => ({
    folders: [...folders.matchAll(/`([\w/-]+)\/`/g)].map(([, folder = ""]) => folder),
    text,
  }),
);

async function foldersBelow(parent: string): Promise<readonly string[]> {
  const entries = await readdir(parent, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

describe("the folder table of docs/architecture.md", () => {
  const named = rows.flatMap(({ folders }) => folders);

  it.each(["worker", "shared"])("has each folder below %s/ once, and no other one", async (parent) => {
    const below = (await foldersBelow(parent)).map((name) => `${parent}/${name}`);

    expect(named.filter((folder) => dirname(folder) === parent).toSorted()).toEqual(below.toSorted());
  });

  it("names every feature, and no folder that does not exist", async () => {
    const features = rows.find(({ folders }) => folders.includes("worker/features"))?.text ?? "";

    expect(features.match(/[\w-]+(?=,| \(|$)/g)?.toSorted()).toEqual(
      expect.arrayContaining((await foldersBelow("worker/features")).toSorted()),
    );
    expect(named.filter((folder) => !existsSync(folder))).toEqual([]);
    expect(named).toEqual(expect.arrayContaining(["actions", "cli", "test", "deploy"]));
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
