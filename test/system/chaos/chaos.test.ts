import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processesMarked } from "../../chaos/leftovers.ts";

const program = join(import.meta.dirname, "../../chaos/main.ts");

describe("npm run chaos", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pbnj-chaos-test-"));
  });

  afterAll(() => rm(folder, { recursive: true }));

  function start(...argv: readonly string[]) {
    const env = { TMPDIR: folder };
    const options = { env, reject: false, timeout: 280_000, forceKillAfterDelay: false } as const;
    return execa(process.execPath, [program, ...argv], options);
  }

  test("ends and cleans up when it is stopped, and says so", { timeout: 120_000 }, async () => {
    const chaos = start("--minutes", "5", "--machines", "4", "--seed", "1");
    await once(chaos.stderr, "data");
    await expect
      .poll(() => readdir(folder), { timeout: 60_000 })
      .toContainEqual(expect.stringMatching(/^pbnj-/));

    chaos.kill("SIGTERM");
    const { exitCode, stderr } = await chaos;

    expect(exitCode).toBe(1);
    expect(stderr).toContain("WRONG the run itself: the run was stopped");
    expect((await readdir(folder)).filter((name) => name.startsWith("pbnj-"))).toEqual([]);
    expect(await processesMarked(folder, new Set())).toEqual([]);
  });

  test("says what it does not understand", async () => {
    const { exitCode, stderr } = await start("--minutes", "soon");

    expect(exitCode).toBe(2);
    expect(stderr).toContain("--minutes is not a number");
    expect(stderr).toContain("npm run chaos");
  });
});
