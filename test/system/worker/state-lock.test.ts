import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LogFields } from "../../../shared/logger.ts";
import { silentLogger } from "../../../shared/logger.ts";
import { actionEntries } from "../../../worker/core/action/action-journal.ts";
import { Journal } from "../../../worker/core/journal/journal.ts";
import { openStateDirectory } from "../../../worker/core/journal/state-directory.ts";
import { scaledClock } from "../../support/scaled-clock.ts";
import { entryOf } from "../../worker/core/journal/entries.ts";

const OTHER = join(import.meta.dirname, "../../support/fixtures/open-state-directory.ts");
/** How much faster the clock is. */
const FACTOR = 20;

/** A directory that this process has locked. */
async function held() {
  const root = await mkdtemp(join(tmpdir(), "pbnj-state-lock-"));
  const path = join(root, "state");
  const state = await openStateDirectory(path, scaledClock(FACTOR));
  onTestFinished(async () => {
    await state.close();
    await rm(root, { recursive: true, force: true });
  });
  return {
    path,
    state,
    taken: `another worker uses the state directory ${path}: stop it, or give this one a directory of its own`,
  };
}

/** The output of another process that tries to open it, and then keeps it until the end of the test. */
async function opened(path: string, factor = FACTOR): Promise<string> {
  const other = execa(process.execPath, [OTHER, path, String(factor)], { stdin: "pipe", reject: false });
  onTestFinished(async () => {
    other.stdin.end();
    await other;
  });
  const [said] = await once(other.stdout, "data");
  return String(said).trim();
}

describe("a state directory whose lock file is deleted", () => {
  it("is locked again by its worker, which warns once, and by no other", async () => {
    const { path, state, taken } = await held();
    const warnings: LogFields[] = [];
    const stop = new AbortController();
    const watching = state.untilLost(stop.signal, {
      ...silentLogger,
      warn: (fields) => void warnings.push(fields),
    });

    await rm(join(path, "lock"));
    const other = await opened(path, 1);
    stop.abort();

    expect(other).toBe(taken);
    expect(await watching).toBeUndefined();
    expect(warnings).toEqual([{ stateDirectory: path }]);
  });

  it("is locked again before anything is launched", async () => {
    const { path, state, taken } = await held();
    const { journal: directory, verify } = state;
    const journal = await Journal.open({
      directory,
      kind: actionEntries,
      clock: scaledClock(FACTOR),
      log: silentLogger,
      verify,
    });
    await rm(join(path, "lock"));

    await Promise.all([journal.write(entryOf("a1")), journal.write(entryOf("a2"))]);

    expect(await opened(path)).toBe(taken);
  });

  it("launches nothing more once another worker has it, and its worker stops", async () => {
    const { path, state, taken } = await held();
    const { journal: directory, verify } = state;
    const journal = await Journal.open({
      directory,
      kind: actionEntries,
      clock: scaledClock(FACTOR),
      log: silentLogger,
      verify,
    });
    await rm(join(path, "lock"));

    const other = await opened(path);
    const written = journal.write(entryOf("a1"));

    expect(other).toBe("held");
    await expect(written).rejects.toThrow(taken);
    expect(journal.find(entryOf("a1").key)).toBeUndefined();
    expect(await state.untilLost(new AbortController().signal, silentLogger)).toMatchObject({
      message: taken,
    });
    // Running actions are still recorded.
    await journal.write(entryOf("a2", "ended"));
  });

  it("can be opened when no worker runs", async () => {
    const { path, state } = await held();
    await state.close();
    await rm(join(path, "lock"));

    expect(await opened(path)).toBe("held");
  });
});

it("a state directory that is moved away launches nothing, and works again when it is moved back", async () => {
  const { path, state } = await held();
  await rename(path, `${path}.away`);

  await expect(state.verify()).rejects.toThrow(/cannot be locked/);
  await rename(`${path}.away`, path);
  await state.verify();
  await mkdir(join(path, "anything"));

  expect(await opened(path)).toMatch(/^another worker uses/);
});
