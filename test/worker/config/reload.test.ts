import { mkdir, rename, rm, symlink, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { Clock } from "../../../shared/clock.ts";
import type { Checked } from "../../../shared/document/problem.ts";
import type { LogFields, Logger } from "../../../shared/logger.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { reloadFiles } from "../../../worker/config/reload.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { testFolder } from "../../support/test-folder.ts";

let folder = "";
let path = "";
beforeEach(async () => {
  ({ folder } = await testFolder());
  path = join(folder, "inventory.yaml");
});

const GOOD = "machines:\n- {name: node-1, host: 192.0.2.1}\n";
const OTHER = "machines:\n- {name: node-2, host: 192.0.2.2}\n";
const BROKEN = "machines:\n- {name: node-2}\n- {name: node 3, host: 192.0.2.3}\n";

/** Time that passes when the test says so: each look ends with the wait for the next one. */
class SteppedClock implements Clock {
  #nowMs = 0;
  #wake: (() => void) | undefined;
  #waiting = Promise.withResolvers<void>();

  now = () => this.#nowMs;
  monotonicMs = () => this.#nowMs;

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      this.#wake = () => {
        this.#nowMs += ms;
        resolve();
      };
      this.#waiting.resolve();
    });
  }

  get waiting(): Promise<void> {
    return this.#waiting.promise;
  }

  /** Lets the wait pass, and `moreMs` with it, and resolves at the next one. */
  async pass(moreMs = 0): Promise<void> {
    await this.waiting;
    this.#waiting = Promise.withResolvers();
    this.#nowMs += moreMs;
    this.#wake?.();
    await this.waiting;
  }
}

/** The file, loaded as `GOOD` and looked at once, what was taken over of it and what was logged. */
async function watching(
  take: (text: string) => Checked<LogFields> = takeInventory,
  {
    sinceLoaded = GOOD,
    isAwaited,
  }: { readonly sinceLoaded?: string; readonly isAwaited?: () => boolean } = {},
) {
  await writeFile(path, sinceLoaded);
  const taken: string[] = [];
  const logged: string[] = [];
  const seen: boolean[] = [];
  let touches = 0;
  const say = (level: string) => (fields: LogFields, message: string) =>
    logged.push(`${level} ${fields["source"] ?? ""}: ${message}`.replaceAll(folder, ""));
  const log: Logger = { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
  const clock = new SteppedClock();
  const stop = new AbortController();
  const file = {
    name: "inventory" as const,
    path,
    text: GOOD,
    touched: () => {
      touches += 1;
    },
    take(text: string) {
      const checked = take(text);
      if (checked.ok) taken.push(text);
      return checked;
    },
  };
  const ended = reloadFiles(
    {
      ...{ files: [file], intervalMs: 2_000, readFile: readTextFile, clock, log, isAwaited },
      observer: { file: ({ taken: isTaken }) => void seen.push(isTaken) },
    },
    stop.signal,
  );
  await clock.waiting;
  return {
    taken,
    /** Whether it was applied, per event. */
    seen,
    logged,
    /** How often it was touched, as its owner was told. */
    touches: () => touches,
    look: (moreMs?: number) => clock.pass(moreMs),
    nowMs: () => clock.monotonicMs(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

function takeInventory(text: string): Checked<LogFields> {
  const credentials = "defaults: {credentials: {username: admin, passwordEnv: PATH}}\n";
  const read = parseInventory({ path, text: text + credentials, env: process.env, readFile: readTextFile });
  return read.ok ? { ...read, value: { machines: read.value.machines().length } } : read;
}

test("a file that stays as it is, or is only touched, is taken over never again", async () => {
  await using watch = await watching();
  expect(watch.touches()).toBe(0);

  await utimes(path, new Date(), new Date(0));
  await watch.look();
  await watch.look();

  expect(watch.touches()).toBe(1);
  expect(watch.taken).toEqual([]);
  expect(watch.logged).toEqual([]);
});

test("a change is taken over when two looks have found the same", async () => {
  await using watch = await watching();
  await watch.look();

  await writeFile(path, OTHER);
  await watch.look();
  expect(watch.taken).toEqual([]);
  await watch.look();

  expect(watch.taken).toEqual([OTHER]);
  expect(watch.logged).toEqual(["info : inventory reloaded"]);
});

test("a change that something waits for is taken over within a second", async () => {
  await using watch = await watching(takeInventory, { isAwaited: () => true });
  await watch.look();
  const changedMs = watch.nowMs();

  await writeFile(path, OTHER);
  await watch.look();
  await watch.look();

  expect(watch.taken).toEqual([OTHER]);
  expect(watch.nowMs() - changedMs).toBeLessThan(1_000);
});

test("a change from before the first look is found", async () => {
  await using watch = await watching(takeInventory, { sinceLoaded: OTHER });

  await watch.look();

  expect(watch.taken).toEqual([OTHER]);
});

test("a file that is being written is not taken over in parts, however sound they are", async () => {
  await using watch = await watching();
  const machines = ["node-2", "node-3", "node-4"].map((name) => `- {name: ${name}, host: ${name}.example}\n`);

  let text = "machines:\n";
  for (const machine of machines) {
    text += machine;
    await writeFile(path, text);
    await watch.look();
  }
  await watch.look();

  expect(watch.taken).toEqual([text]);
});

test("a broken file changes nothing, and each of its problems is logged once, with its line", async () => {
  await using watch = await watching();

  await writeFile(path, BROKEN);
  await watch.look();
  await watch.look();
  await utimes(path, new Date(), new Date(0));
  await watch.look();
  await watch.look();

  expect(watch.taken).toEqual([]);
  expect(watch.logged).toEqual([
    expect.stringMatching(/^error inventory\.yaml:2: machine node-2: host /),
    expect.stringMatching(/^error inventory\.yaml:3: machine node 3: name /),
    "error : inventory reload failed, keeping the last valid one",
  ]);
});

test.each([
  ["with another text", OTHER],
  ["with the text it had before", GOOD],
])("a broken file that is fixed %s is applied", async (_, fixed) => {
  await using watch = await watching();
  await writeFile(path, BROKEN);
  await watch.look();
  await watch.look();

  await writeFile(path, fixed);
  await watch.look();
  await watch.look();

  expect(watch.taken).toEqual([fixed]);
  expect(watch.logged.at(-1)).toBe("info : inventory reloaded");
});

test("a file is followed through the links that a ConfigMap is changed by", async () => {
  await using watch = await watching();
  await unlink(path);
  for (const [version, text] of [
    ["..1", GOOD],
    ["..2", OTHER],
  ] as const) {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, "inventory.yaml"), text);
  }
  await symlink("..1", join(folder, "..data"));
  await symlink(join("..data", "inventory.yaml"), path);
  await watch.look();

  await symlink("..2", join(folder, "..data_tmp"));
  await rename(join(folder, "..data_tmp"), join(folder, "..data"));
  await watch.look();
  await watch.look();

  expect(watch.taken).toEqual([OTHER]);
});

test("a file that is gone is complained about once, and its last text stays until it is back", async () => {
  await using watch = await watching();

  await rm(path);
  await watch.look();
  await watch.look();
  await writeFile(path, GOOD);
  await watch.look();

  expect(watch.taken).toEqual([]);
  expect(watch.logged).toEqual([
    "error /inventory.yaml: does not exist",
    "error : inventory reload failed, keeping the last valid one",
    "info : inventory readable again, unchanged",
  ]);
});

test("a change, a rejection, and a file that disappears and returns are one event each", async () => {
  await using watch = await watching();

  for (const text of [OTHER, BROKEN, OTHER]) {
    await writeFile(path, text);
    await watch.look();
    await watch.look();
    await watch.look();
  }
  for (let time = 0; time < 2; time += 1) {
    await rm(path);
    await watch.look();
    await watch.look();
    await writeFile(path, OTHER);
    await watch.look();
    await watch.look();
  }

  expect(watch.seen).toEqual([true, false, true, false, true, false, true]);
  expect(watch.logged.filter((line) => line.endsWith("does not exist"))).toHaveLength(2);
});

test("a file whose problem is another file is tried again, and says nothing new meanwhile", async () => {
  const other = join(folder, "other");
  await using watch = await watching((text) => {
    try {
      return { ok: true, value: { other: readTextFile(other) }, warnings: [] };
    } catch {
      return { ok: false, problems: [{ source: "inventory.yaml:1", message: `${text.length} no other` }] };
    }
  });
  await writeFile(path, OTHER);
  await watch.look();
  await watch.look();
  await watch.look(60_000);
  const before = watch.logged.length;

  await writeFile(other, "there");
  await watch.look(60_000);

  expect(before).toBe(2);
  expect(watch.taken).toEqual([OTHER]);
});

test("what throws while it is checked is a problem like others, and the next change is taken over", async () => {
  let calls = 0;
  await using watch = await watching(() => {
    calls += 1;
    if (calls === 1) throw new Error("broken checker");
    return { ok: true, value: {}, warnings: [{ source: "inventory.yaml:1", message: "strange" }] };
  });

  await writeFile(path, BROKEN);
  await watch.look();
  await watch.look();
  await writeFile(path, OTHER);
  await watch.look();
  await watch.look();

  expect(watch.taken).toEqual([OTHER]);
  expect(watch.logged).toEqual([
    "error /inventory.yaml: broken checker",
    "error : inventory reload failed, keeping the last valid one",
    "warn inventory.yaml:1: strange",
    "info : inventory reloaded",
  ]);
});

test("nothing to watch is nothing to wait for", async () => {
  const clock = new SteppedClock();
  const log: Logger = { debug() {}, info() {}, warn() {}, error() {} };

  const ended = reloadFiles(
    { files: [], intervalMs: 1_000, readFile: readTextFile, clock, log, observer: { file: () => undefined } },
    new AbortController().signal,
  );

  await expect(ended).resolves.toBeUndefined();
});
