import { lstat, mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { actionEntries } from "../../../../worker/core/action/action-journal.ts";
import { decodeEntry, encodeEntry } from "../../../../worker/core/journal/entry-text.ts";
import { entryOf } from "./entries.ts";
import { journalLab } from "./journal-lab.ts";

const { key } = entryOf("a9");
const whole = encodeEntry(entryOf("a9", "launched"));

/** What a file with an entry's name may contain. */
const damages: readonly {
  readonly damage: string;
  readonly make: (path: string) => Promise<unknown>;
  readonly problem: RegExp;
}[] = [
  { damage: "empty", make: (path) => writeFile(path, ""), problem: /^is not JSON$/ },
  {
    damage: "half-written",
    make: (path) => writeFile(path, whole.slice(0, whole.length / 2)),
    problem: /^is not JSON$/,
  },
  {
    damage: "made of NUL bytes, as after a loss of power",
    make: (path) => writeFile(path, Buffer.alloc(whole.length)),
    problem: /^is not JSON$/,
  },
  { damage: "JSON, but no object", make: (path) => writeFile(path, "[]"), problem: /^is not JSON$/ },
  {
    damage: "changed in one character",
    make: (path) => writeFile(path, whole.replace('"launched"', '"ended"')),
    problem: /^does not match its checksum$/,
  },
  {
    damage: "without its checksum",
    make: (path) => writeFile(path, whole.replace(/,"checksum":".*?"/, "")),
    problem: /^does not match its checksum$/,
  },
  {
    damage: "of a newer version",
    make: (path) => writeFile(path, whole.replace('"version":1', '"version":2')),
    problem: /^has version 2: this worker reads version 1$/,
  },
  {
    damage: "of no version",
    make: (path) => writeFile(path, whole.replace('"version":1', '"version":"x"')),
    problem: /^has no known version$/,
  },
  {
    damage: "with an unknown field",
    make: (path) => writeFile(path, changed({ x: 1 })),
    problem: /^is damaged: .*x/,
  },
  {
    damage: "with another action in it",
    make: (path) => writeFile(path, changed({ action: entryOf("a8").action })),
    problem: /^holds a key that is not its action's$/,
  },
  {
    damage: "another action's",
    make: (path) => writeFile(path, encodeEntry(entryOf("a8"))),
    problem: /^holds another action's entry$/,
  },
  {
    damage: "100 MB large",
    make: async (path) => {
      await writeFile(path, whole);
      await truncate(path, 100 * 1024 * 1024);
    },
    problem: /^is larger than 65536 bytes$/,
  },
  {
    damage: "a link, also one to a good entry",
    make: async (path) => {
      await writeFile(`${path}.elsewhere`, whole);
      await symlink(`${path}.elsewhere`, path);
    },
    problem: /^cannot be read \(ELOOP\)$/,
  },
  { damage: "a folder", make: (path) => mkdir(path), problem: /^is not a file$/ },
  { damage: "a pipe", make: (path) => execa("mkfifo", [path]), problem: /^is not a file$/ },
];

describe.each(damages)("an entry that is $damage", ({ make, problem }) => {
  it("stays in place and counts as damaged, at every start", async () => {
    const { directory, open, files, warnings } = await journalLab();
    const good = entryOf("a1", "launched");
    await (await open()).write(good);
    const path = join(directory, `${key}.json`);
    await make(path);
    const before = await lstat(path);

    const journals = [await open(), await open()];

    for (const journal of journals) {
      expect(journal.damageOf(key)).toMatch(problem);
      expect(journal.find(key)).toBeUndefined();
      expect(journal.unfinished()).toEqual([good]);
      expect(journal.damageOf(good.key)).toBeUndefined();
    }
    expect(await files()).toContain(`${key}.json`);
    expect(await lstat(path)).toMatchObject({ ino: before.ino, size: before.size });
    expect(warnings).toContainEqual({ file: path, problem: expect.stringMatching(problem) });
  });

  it("is replaced once the end of its action is recorded, and kept for diagnosis", async () => {
    const { directory, open, setAside } = await journalLab();
    await make(join(directory, `${key}.json`));
    const journal = await open();
    const acknowledged = entryOf("a9", "acknowledged");

    // A folder cannot be replaced atomically: until the server knows the end, the entry stays damaged.
    await journal.write(entryOf("a9", "ended")).catch(() => undefined);
    const ended = journal.find(key)?.phase;
    await journal.write(acknowledged);
    const known = [journal.find(key), journal.damageOf(key)];
    const after = await open();

    expect(ended).toBe("ended");
    expect(known).toEqual([acknowledged, undefined]);
    expect(after.damageOf(key)).toBeUndefined();
    expect(await setAside()).toContainEqual(expect.stringMatching(new RegExp(`Z-${key}\\.json$`)));
  });

  it("is no longer found once it is removed, and kept for diagnosis", async () => {
    const { directory, open, files, setAside } = await journalLab();
    await make(join(directory, `${key}.json`));
    const journal = await open();

    await journal.remove(key);
    const known = journal.damageOf(key);
    const after = await open();

    expect(known).toBeUndefined();
    expect(after.damageOf(key)).toBeUndefined();
    expect(await files()).not.toContain(`${key}.json`);
    expect(await setAside()).toContainEqual(expect.stringMatching(new RegExp(`Z-${key}\\.json$`)));
  });
});

describe("two files for one action", () => {
  it("leave both actions damaged if one has the other's entry and that has none", async () => {
    const { directory, open } = await journalLab();
    await writeFile(join(directory, `${entryOf("a8").key}.json`), whole);

    const journal = await open();

    expect(journal.damageOf(entryOf("a8").key)).toBe("holds another action's entry");
    expect(journal.damageOf(key)).toBe("is in the file of another action");
  });

  it("count by the one with the action's name", async () => {
    const { directory, open } = await journalLab();
    await writeFile(join(directory, `${entryOf("a8").key}.json`), encodeEntry(entryOf("a9", "launching")));
    await writeFile(join(directory, `${key}.json`), whole);

    const journal = await open();

    expect(journal.find(key)).toEqual(entryOf("a9", "launched"));
    expect(journal.damageOf(key)).toBeUndefined();
  });

  it("count by the complete one if another was not finished", async () => {
    const { directory, open, files } = await journalLab();
    await writeFile(join(directory, `${key}.json`), whole);
    await writeFile(join(directory, `${key}.json.part`), encodeEntry(entryOf("a9", "ended")).slice(0, -20));

    const journal = await open();

    expect(journal.find(key)).toEqual(entryOf("a9", "launched"));
    expect(await files()).toEqual([`${key}.json`]);
  });
});

describe("an entry that is half-written", () => {
  const half = whole.slice(0, whole.length / 2);

  it.each(["launched", "ended"] as const)("in the step after %s has that phase", (phase) => {
    const text = encodeEntry(entryOf("a9")) + encodeEntry(entryOf("a9", phase)) + half;

    expect(decodeEntry(text, actionEntries)).toEqual({ ok: true, entry: entryOf("a9", phase) });
  });

  it("in the step after launching may have been launched, and how it began is known", async () => {
    const { directory, open, setAside } = await journalLab();
    await writeFile(join(directory, `${key}.json`), encodeEntry(entryOf("a9")) + half);

    const journal = await open();
    const found = [journal.find(key), journal.damageOf(key)];
    await journal.write(entryOf("a9", "ended"));

    expect(found).toEqual([entryOf("a9"), "ends within its second step"]);
    expect(journal.damageOf(key)).toBeUndefined();
    expect((await open()).find(key)).toEqual(entryOf("a9", "ended"));
    expect(await setAside()).toHaveLength(1);
  });
});

it("many damaged entries log twenty warnings and a sum", async () => {
  const { directory, open, warnings } = await journalLab();
  for (let n = 0; n < 25; n += 1) await writeFile(join(directory, `${entryOf(`a${n}`).key}.json`), "");

  await open();

  expect(warnings).toHaveLength(21);
  expect(warnings.at(-1)).toEqual({ directory, more: 5 });
});

/** An entry with a right checksum. */
function changed(fields: Readonly<Record<string, unknown>>): string {
  return encodeEntry({ ...entryOf("a9", "launched"), ...fields });
}
