import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../../../shared/clock.ts";
import {
  openStateDirectory,
  StateDirectoryProblem,
} from "../../../../worker/core/journal/state-directory.ts";
import { LockTaken, StateLock } from "../../../../worker/core/journal/state-lock.ts";
import { fileFolder } from "../../../support/test-folder.ts";

const { folder: root } = await fileFolder();
async function problemOf(path: string): Promise<string> {
  const thrown: unknown = await openStateDirectory(path).then(
    (state) => state.close(),
    (error: unknown) => error,
  );
  if (!(thrown instanceof StateDirectoryProblem))
    throw new Error(`expected a problem, got ${String(thrown)}`);
  return thrown.message;
}

describe("a state directory", () => {
  it("is created with its folders, for its owner alone, and keeps its ID", async () => {
    const path = join(root, "deep", "new");

    const first = await openStateDirectory(path);
    await first.close();
    const second = await openStateDirectory(path);
    await second.close();

    expect(second).toMatchObject({
      id: first.id,
      path,
      journal: join(path, "journal"),
      results: join(path, "results"),
    });
    for (const folder of [path, first.journal, first.results]) {
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
    }
    expect(JSON.parse(await readFile(join(path, "state.json"), "utf8"))).toEqual({
      version: 1,
      id: first.id,
    });
  });

  it("that exists loses the rights of other users, unless it holds something else", async () => {
    const [own, shared] = [await mkdtemp(join(root, "wide-")), await mkdtemp(join(root, "shared-"))];
    await writeFile(join(shared, "of-another-program"), "");
    const modes = async (path: string) => {
      for (const folder of [path, join(path, "journal"), join(path, "results")]) {
        await mkdir(folder, { recursive: true });
        await chmod(folder, 0o755);
      }
      await (await openStateDirectory(path)).close();
      const folders = [path, join(path, "journal"), join(path, "results")];
      return Promise.all(folders.map(async (folder) => ((await stat(folder)).mode & 0o777).toString(8)));
    };

    expect(await modes(own)).toEqual(["700", "700", "700"]);
    expect(await modes(shared)).toEqual(["755", "700", "700"]);
  });

  it("whose lock file is missing is locked after 3 s, unless another worker locks a new file", async () => {
    const path = await mkdtemp(join(root, "unlocked-"));
    let elapsedMs = 0;
    let holder: StateLock | undefined;
    let heldAfterMs = 2_900;
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => elapsedMs,
      async sleep(ms) {
        elapsedMs += ms;
        if (elapsedMs >= heldAfterMs) holder ??= await StateLock.acquire(path, false, systemClock);
      },
    };

    await expect(StateLock.acquire(path, true, clock)).rejects.toThrow(LockTaken);
    await holder?.release();
    await rm(join(path, "lock"));
    [elapsedMs, heldAfterMs] = [0, Number.POSITIVE_INFINITY];
    await (await StateLock.acquire(path, true, clock)).release();

    expect(elapsedMs).toBe(3_000);
  });

  it("is the same by every path", async () => {
    const path = join(root, "real");
    const link = join(root, "link");
    const first = await openStateDirectory(path);
    await first.close();
    await symlink(path, link);

    const second = await openStateDirectory(link);
    const meanwhile = await problemOf(path);
    await second.close();

    expect(second).toMatchObject({ id: first.id, path });
    expect(meanwhile).toMatch(/^another worker uses the state directory .*real/);
  });

  it("is rejected while another worker uses it, and free afterwards", async () => {
    const path = join(root, "taken");
    const first = await openStateDirectory(path);

    const refused = await problemOf(path);
    await first.close();
    const second = await openStateDirectory(path);
    await second.close();

    expect(refused).toBe(
      `another worker uses the state directory ${path}: stop it, or give this one a directory of its own`,
    );
  });

  it.each([
    ["{", "damaged"],
    ['{"version":2,"id":"x"}', "of another version"],
  ])("whose state.json holds %s is rejected with the file's name, and is not locked", async (text) => {
    const path = await mkdtemp(join(root, "damaged-"));
    await writeFile(join(path, "state.json"), text);

    const problems = [await problemOf(path), await problemOf(path)];

    for (const problem of problems)
      expect(problem).toContain(`${path}/state.json is damaged or of another version`);
  });

  it("that cannot be used is rejected in one line with its name", async () => {
    const file = join(root, "file");
    await writeFile(file, "");
    const strange = await mkdtemp(join(root, "strange-"));
    await writeFile(
      join(strange, "lock"),
      "this is no database, but long enough to be read as one".repeat(100),
    );
    await chmod(strange, 0o700);

    const problems = [await problemOf(file), await problemOf(strange)];

    expect(problems[0]).toMatch(new RegExp(`^the state directory ${file} cannot be used: `));
    expect(problems[1]).toMatch(new RegExp(`^the state directory ${strange} cannot be locked: `));
    for (const problem of problems) expect(problem).not.toContain("\n");
  });
});
