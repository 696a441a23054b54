import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import {
  type CleanedUp,
  type CleanUpOptions,
  cleanUp,
} from "../../../../worker/features/action-log/clean-up.ts";
import { fileName } from "../../../../worker/features/action-log/names.ts";
import { testFolder } from "../../../support/test-folder.ts";

const DAY_MS = 24 * 3_600_000;
const nowMs = Date.parse("2026-11-21T12:00:00Z");

let directory: string;
beforeEach(async () => {
  ({ folder: directory } = await testFolder());
});

/** A log of so many bytes, last written so many days ago; its path. */
async function logFile(folder: string, name: string, daysAgo: number, bytes = 4_096): Promise<string> {
  const key = Buffer.from(name).toString("hex").padEnd(32, "0").slice(0, 32);
  const path = join(directory, folder, fileName({ name, key }, new Date(0)));
  await mkdir(join(directory, folder), { recursive: true });
  await writeFile(path, Buffer.alloc(bytes));
  await setDaysAgo(path, daysAgo);
  return path;
}

async function setDaysAgo(path: string, daysAgo: number): Promise<void> {
  const at = new Date(nowMs - daysAgo * DAY_MS);
  await utimes(path, at, at);
}

function clean(options: Partial<CleanUpOptions> = {}): Promise<CleanedUp> {
  const { signal } = new AbortController();
  const limits = { maxAgeMs: 14 * DAY_MS, maxBytes: 1024 ** 3 };
  return cleanUp({ directory, ...limits, nowMs, isOpen: () => false, signal, ...options });
}

const left = async () =>
  (await readdir(directory, { recursive: true })).filter((name) => name.endsWith(".log")).length;

describe("cleaning up", () => {
  it("takes what is too old, with the folders that are empty then", async () => {
    await logFile("ns_old", "a", 15);
    const young = await logFile("ns_new", "b", 13);
    await logFile("ns_new", "c", 20);

    expect((await clean()).removed).toBe(2);

    expect(await readdir(directory)).toEqual(["ns_new"]);
    expect(await lstat(young)).toBeDefined();
  });

  it("takes the oldest first until the rest has room, in whole blocks of 4 KiB", async () => {
    const newest = await logFile("ns_b", "newest", 1, 10);
    await logFile("ns_a", "oldest", 3, 10);
    const middle = await logFile("ns_a", "middle", 2, 4_097);

    expect(await clean({ maxBytes: 3 * 4_096 })).toEqual({ removed: 1, bytes: 3 * 4_096 });

    expect(await left()).toBe(2);
    expect(await Promise.all([lstat(newest), lstat(middle)])).toHaveLength(2);
  });

  it("leaves what is being written, however old", async () => {
    const open = await logFile("ns_a", "a", 100);
    await logFile("ns_a", "b", 99);

    expect((await clean({ maxBytes: 0, isOpen: (path) => path === open })).removed).toBe(1);

    expect(await left()).toBe(1);
  });

  it("leaves everything that is not ours, and follows no link", async () => {
    const outside = await mkdtemp(join(tmpdir(), "pbnj-outside-"));
    const target = join(outside, fileName({ name: "x", key: "0".repeat(32) }, new Date(0)));
    await writeFile(target, "precious");
    await setDaysAgo(target, 1_000);
    const ours = await logFile("ns_a", "a", 1_000);
    await writeFile(join(directory, "ns_a", "notes.txt"), "precious");
    await writeFile(join(directory, "power-off.log"), "precious");
    await mkdir(join(directory, "ns_a", `${"20200101T000000.000Z"}-x-00000000.log`));
    await mkdir(join(directory, ".hidden"));
    await writeFile(
      join(directory, ".hidden", fileName({ name: "x", key: "1".repeat(32) }, new Date(0))),
      "",
    );
    await symlink(outside, join(directory, "ns_link"));
    await symlink(
      target,
      join(directory, "ns_a", fileName({ name: "link", key: "2".repeat(32) }, new Date(0))),
    );

    expect((await clean({ maxBytes: 0, maxAgeMs: 0 })).removed).toBe(1);

    await expect(lstat(ours)).rejects.toThrow("ENOENT");
    expect(await readFile(target, "utf8")).toBe("precious");
    expect(await readdir(directory)).toEqual([".hidden", "ns_a", "ns_link", "power-off.log"]);
    expect(await readdir(join(directory, "ns_a"))).toHaveLength(3);
    expect(await readdir(join(directory, ".hidden"))).toHaveLength(1);
    await rm(outside, { recursive: true });
  });

  it("makes the directory where it is missing, and says why it cannot", async () => {
    await rm(directory, { recursive: true });

    expect((await clean()).removed).toBe(0);
    expect((await lstat(directory)).mode & 0o777).toBe(0o700);

    await rm(directory, { recursive: true });
    await writeFile(directory, "");
    await expect(clean()).rejects.toThrow("EEXIST");
  });
});
