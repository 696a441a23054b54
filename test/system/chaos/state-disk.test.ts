import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { StateDisk } from "../../chaos/state-disk.ts";
import { testFolder } from "../../support/test-folder.ts";

test("a state disk is seen by its own programs alone, and can be full and free again", async (context) => {
  const { folder } = await testFolder();
  const mounted = await StateDisk.mount(folder);
  // It takes root, which not everybody has.
  context.skip(typeof mounted === "string", `no disk: ${mounted}`);
  if (typeof mounted === "string") return;
  await using disk = mounted;
  const write = async (name: string) => {
    const [program = "", ...prefix] = disk.prefix;
    const argv = [...prefix, "sh", "-c", 'echo text > "$1"', "sh", join(disk.path, name)];
    return (await execa(program, argv, { reject: false })).exitCode === 0;
  };
  const read = (name: string) => readFile(join(disk.pathFromOutside, name), "utf8").catch(() => "");

  const written = [await write("first")];
  await disk.fill();
  written.push(await write("second"));
  await disk.free();
  written.push(await write("third"));

  expect(written).toEqual([true, false, true]);
  expect([await read("first"), await read("second"), await read("third")]).toEqual(["text\n", "", "text\n"]);
  expect(await readdir(folder)).toEqual([]);
  await expect(writeFile(join(folder, "beside"), "")).resolves.toBeUndefined();
});
