import { mkdtemp, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder } from "../../shared/make-folder.ts";

const root = await mkdtemp(join(tmpdir(), "pbnj-make-folder-"));

it("makes a folder and what is missing above it, for the owner alone, also by two at once", async () => {
  const path = join(root, "a/b/c");

  await Promise.all([makeFolder(path, 0o700), makeFolder(path, 0o700)]);
  await makeFolder(path, 0o700);

  for (const each of [path, join(root, "a")]) expect((await stat(each)).mode & 0o777).toBe(0o700);
});

it.runIf(process.platform === "linux")("says so where nothing can be made", async () => {
  await expect(makeFolder("/proc/none/at/all")).rejects.toThrow("/proc/none");
});

it("says so if a file is in the way", async () => {
  await writeFile(join(root, "file"), "");

  await expect(makeFolder(join(root, "file"))).rejects.toThrow("EEXIST");
  await expect(makeFolder(join(root, "file/b"))).rejects.toThrow("ENOTDIR");
});
