import { chmod, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { readOwnCache, writeOwnCache } from "../../scripts/bundle/own-cache.ts";
import { testFolder } from "../support/test-folder.ts";

let folder = "";
beforeEach(async () => {
  ({ folder } = await testFolder());
});

it("reads what it wrote, and leaves nothing else", async () => {
  const file = join(folder, "cache/program");

  writeOwnCache(file, Buffer.from("compiled"));

  expect(readOwnCache(file)?.toString()).toBe("compiled");
  expect(await readdir(join(folder, "cache"))).toEqual(["program"]);
});

it.each([
  ["the file", 0o660, 0o700],
  ["its folder", 0o600, 0o777],
])("reads nothing if other users can write to %s", async (_, fileMode, folderMode) => {
  const file = join(folder, "program");
  writeOwnCache(file, Buffer.from("compiled"));

  await chmod(file, fileMode);
  await chmod(folder, folderMode);

  expect(readOwnCache(file)).toBeUndefined();
});

it("does nothing where it cannot write", async () => {
  await writeFile(join(folder, "occupied"), "");

  writeOwnCache(join(folder, "occupied/program"), Buffer.from("compiled"));

  expect(await readdir(folder)).toEqual(["occupied"]);
});
