import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";

const page = await readFile("CONTRIBUTING.md", "utf8");
const { scripts } = JSON.parse(await readFile("package.json", "utf8"));
const testFiles = (await readdir("test", { recursive: true }))
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => `test/${name}`);
const inCode = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text = ""]) => text);

/** A path in text, without a part that the reader chooses. */
function isPath(text: string): boolean {
  return /^[\w.-]+(\/[\w.-]+)+\/?$/.test(text) && !/^(dist|localhost|node_modules)\//.test(text);
}

it("names only files and folders that there are, as docs/architecture.md does", async () => {
  const architecture = (await readFile("docs/architecture.md", "utf8")).matchAll(/^\| `([^`\n]+)`/gm);
  const folders = [...architecture].map(([, folder = ""]) => folder);
  const paths = [...inCode, ...folders].filter(isPath);

  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
});

it("runs tests that there are", () => {
  const filters = inCode
    .filter((text) => text.startsWith("npx vitest run "))
    .flatMap((text) => text.split(" ").slice(3))
    .filter((word) => word.startsWith("test/"));
  const isThere = (filter: string) => {
    const pattern = new RegExp(`^${filter.replaceAll(/<\w+>/g, "[^/]+")}`);
    return testFiles.some((name) => pattern.test(name));
  };

  expect(filters.length).toBeGreaterThan(40);
  expect(filters.filter((filter) => !isThere(filter))).toEqual([]);
});

it("says which tests to run for a change in any folder of the sources", async () => {
  const rows = page.split("\n").filter((line) => line.startsWith("| "));
  const named = rows.flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([\w/-]+)\/`/g)]);
  const folders = named.map(([, folder = ""]) => folder);
  const below = await readdir("worker", { withFileTypes: true });
  const wanted = [
    ...below.filter((entry) => entry.isDirectory()).map(({ name }) => `worker/${name}`),
    ...["shared", "simulators", "cli", "docs", "deploy", "examples", "scripts", "bench"],
  ];

  expect(
    wanted.filter(
      (folder) => !folders.includes(folder) && !rows.some((row) => row.startsWith(`| \`${folder}/<name>/`)),
    ),
  ).toEqual([]);
});

it("has every npm script that there is, and no other one", () => {
  const called = inCode.flatMap((text) => /^npm run ([\w:-]+)/.exec(text)?.[1] ?? []);
  const named = [...called, ...inCode];

  expect(called.filter((name) => !(name in scripts))).toEqual([]);
  expect(Object.keys(scripts).filter((name) => name !== "test" && !named.includes(name))).toEqual([]);
});
