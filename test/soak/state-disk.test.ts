import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { StateDisk } from "./state-disk.ts";

test("a state disk is seen by its own programs alone, and can be full and free again", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-disk-"));
  context.onTestFinished(() => rm(folder, { recursive: true }));
  const mounted = await StateDisk.mount(folder);
  // It takes root, which not everybody has.
  context.skip(typeof mounted === "string", `no disk: ${mounted}`);
  if (typeof mounted === "string") return;
  await using disk = mounted;
  const write = async (name: string) => {
    const [program = "", ...prefix] = disk.prefix;
    const { exitCode, stderr } = await execa(
      program,
      [...prefix, "sh", "-c", 'echo text > "$1"', "sh", join(disk.path, name)],
      { reject: false },
    );
    return { exitCode, full: stderr.includes("No space left on device") };
  };

  const first = await write("first");
  await disk.fill();
  const second = await write("second");
  await disk.free();
  const third = await write("third");

  expect([first.exitCode, second.full, third.exitCode]).toEqual([0, true, 0]);
  expect((await readdir(disk.pathFromOutside)).toSorted()).toEqual(["first", "second", "third"]);
  expect(await readdir(folder)).toEqual([]);
  await expect(writeFile(join(folder, "beside"), "")).resolves.toBeUndefined();
});
