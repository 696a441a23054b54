import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { namePackages } from "../../scripts/bundle/third-party.ts";

it.each([
  ["node_modules/@scope/name", "node_modules/@scope/name"],
  ["node_modules/other/node_modules/name", "node_modules/other/node_modules/name"],
  ["../../main/node_modules/name", "node_modules/name"],
])("names the package in %s below the folder of the bundle alone", async (folder, named) => {
  const outside = await mkdtemp(join(tmpdir(), "pbnj-third-party-"));
  const directory = join(outside, "dist/program");
  const facts = { name: "name", version: "1.2.3", license: "MIT" };

  await namePackages([{ ...facts, folder, within: new Set() }], directory);

  expect(JSON.parse(await readFile(join(directory, named, "package.json"), "utf8"))).toEqual(facts);
  expect(await readdir(outside)).toEqual(["dist"]);
  expect(await readdir(join(outside, "dist"))).toEqual(["program"]);
  await rm(outside, { recursive: true });
});
