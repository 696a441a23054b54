import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { beforeEach, describe, expect, it } from "vitest";
import { appendBounded } from "../../../../worker/features/action-log/bounded-file.ts";
import { testFolder } from "../../../support/test-folder.ts";

let folder: string;
beforeEach(async () => {
  ({ folder } = await testFolder());
});

const header = "# header\n";
const MAX_BYTES = 64 * 1024;

describe("a file of bounded size", () => {
  it("is made with its folder for its owner alone, and begins with the header", async () => {
    const path = join(folder, "logs", "ns_wf", "one.log");

    await appendBounded(path, { text: "one\n", header, maxBytes: MAX_BYTES });
    await appendBounded(path, { text: "two\n", header, maxBytes: MAX_BYTES });

    expect(await readFile(path, "utf8")).toBe("# header\none\ntwo\n");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "logs"))).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, "logs", "ns_wf"))).mode & 0o777).toBe(0o700);
  });

  it("keeps the beginning and the end, and counts every line that is not there", async () => {
    const path = join(folder, "one.log");
    const LINES = 20_000;

    for (let from = 0; from < LINES; from += 100) {
      const numbers = Array.from({ length: 100 }, (_, index) => from + index);
      const text = numbers.map((number) => `line ${number} ${"ä".repeat(number % 40)}\n`).join("");
      await appendBounded(path, { text, header, maxBytes: MAX_BYTES });
      expect((await stat(path)).size).toBeLessThanOrEqual(MAX_BYTES);
    }

    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    const gaps = lines.filter((line) => line.includes("lines removed"));
    const numbers = lines.flatMap((line) => /^line (\d+) ä*$/.exec(line)?.[1] ?? []).map(Number);
    expect(gaps).toHaveLength(1);
    const gap = lines.indexOf(gaps[0] ?? "") - 1;
    expect(lines).toHaveLength(numbers.length + 2);
    expect(numbers.slice(0, gap)).toEqual(Array.from({ length: gap }, (_, index) => index));
    const end = numbers.length - gap;
    expect(numbers.slice(gap)).toEqual(Array.from({ length: end }, (_, index) => LINES - end + index));
    expect(gaps[0]).toBe(`# ${LINES - numbers.length} lines removed here: the log exceeded its size limit`);
    expect(Math.min(gap, end)).toBeGreaterThan(300);
  });

  it("is not written through a link, neither in its own place nor in its folder's", async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), "pbnj-elsewhere-"));
    await writeFile(join(elsewhere, "precious"), "precious");
    await symlink(join(elsewhere, "precious"), join(folder, "one.log"));
    await symlink(elsewhere, join(folder, "ns_wf"));

    const append = (path: string) => appendBounded(path, { text: "x\n", header, maxBytes: MAX_BYTES });

    await expect(append(join(folder, "one.log"))).rejects.toThrow("ELOOP");
    await expect(append(join(folder, "ns_wf", "two.log"))).rejects.toThrow("is not a folder");
    expect(await readFile(join(elsewhere, "precious"), "utf8")).toBe("precious");
    expect(await readdir(elsewhere)).toEqual(["precious"]);
    await rm(elsewhere, { recursive: true });
  });

  it("fails without waiting if the file is a pipe", async () => {
    const path = join(folder, "one.log");
    await execa("mkfifo", [path]);

    await expect(appendBounded(path, { text: "x\n", header, maxBytes: MAX_BYTES })).rejects.toThrow();

    expect(await readdir(folder)).toEqual(["one.log"]);
  });
});
