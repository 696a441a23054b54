import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { actionEntries } from "../../../../worker/core/action/action-journal.ts";
import type { JournalEntry } from "../../../../worker/core/action/entry.ts";
import { decodeEntry, encodeEntry } from "../../../../worker/core/journal/entry-text.ts";
import { entryOf } from "./entries.ts";
import { journalLab as lab, NOW } from "./journal-lab.ts";

const DAY = 24 * 60 * 60_000;

describe("the journal", () => {
  it("keeps each action in a readable file of its own, for the owner alone", async () => {
    const { directory, open, files, setAside } = await lab();
    const steps = [entryOf("a1", "launching"), entryOf("a1", "launched")] as const;
    const [{ key }] = steps;
    const journal = await open();

    for (const entry of steps) await journal.write(entry);

    const path = join(directory, `${key}.json`);
    expect([await files(), await setAside()]).toEqual([[`${key}.json`], []]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const text = await readFile(path, "utf8");
    expect(decodeEntry(text, actionEntries)).toEqual({ ok: true, entry: steps[1] });
    expect(text).toMatch(/^(\{"version":1,"key":.*,"checksum":"[0-9a-f]{16}"\}\n){2}$/);
  });

  it("reads all fields as they were written", () => {
    const { action, ...about } = entryOf("a1", "launched");
    const entry = {
      ...about,
      action: { ...action, idMayReturn: true },
      startedBootTime: "1.5",
    } as JournalEntry;

    expect(decodeEntry(encodeEntry(entry), actionEntries)).toEqual({ ok: true, entry });
  });

  it("replaces a file that was removed, or would be too large to be read", async () => {
    const { directory, open } = await lab();
    const journal = await open();
    const ended = longEnd(30_000);
    await journal.write(ended);
    await rm(join(directory, `${ended.key}.json`));

    for (let times = 0; times < 3; times += 1) await journal.write(ended);

    expect((await open()).find(ended.key)).toEqual(ended);
  });

  it("starts a new file for another run of the action", async () => {
    const { directory, open } = await lab();
    const journal = await open();
    await journal.write(entryOf("a1", "acknowledged"));
    const again = entryOf("a1", "launching");

    await journal.write(again);

    expect(await readFile(join(directory, `${again.key}.json`), "utf8")).toBe(encodeEntry(again));
  });

  it("loads the entries of an earlier worker, the oldest first, without removed ones", async () => {
    const { open, setAside } = await lab();
    const phases = ["launching", "launched", "ended", "launching", "launched", "acknowledged"] as const;
    const entries = phases.map((phase, index) => ({
      ...entryOf(`a${index}`, phase),
      startedAt: new Date(NOW - index * DAY).toISOString(),
    }));
    const before = await open();
    for (const entry of entries) await before.write(entry);
    const gone = entryOf("gone");
    await before.write(gone);
    await before.remove(gone.key);
    // A second removal does nothing.
    await before.remove(gone.key);

    const after = await open();

    expect(entries.map(({ key }) => after.find(key))).toEqual(entries);
    expect(after.find(gone.key)).toBeUndefined();
    expect(after.unfinished()).toEqual(entries.slice(0, 5).toReversed());
    expect(await setAside()).toEqual([]);
  });

  it("removes unfinished files of a killed worker", async () => {
    const { directory, open, files, warnings } = await lab();
    const good = entryOf("a1", "launched");
    await (await open()).write(good);
    await writeFile(join(directory, `${good.key}.json.part`), "{");

    const journal = await open();

    expect(journal.find(good.key)).toEqual(good);
    expect(await files()).toEqual([`${good.key}.json`]);
    expect(warnings).toEqual([]);
  });

  it("sets files of other names aside, with one warning each", async () => {
    const { directory, open, files, setAside, warnings } = await lab();
    await writeFile(join(directory, "notes.txt"), "buy milk");
    await mkdir(join(directory, `${entryOf("a1").key}.json.bak`));
    await writeFile(join(directory, `old-${entryOf("a1").key}.json`), encodeEntry(entryOf("a1")));

    await open();
    await open();

    expect(await files()).toEqual([]);
    expect(await setAside()).toEqual([
      `2030-01-02T030410.000Z-${entryOf("a1").key}.json.bak`,
      "2030-01-02T030410.000Z-notes.txt",
      `2030-01-02T030410.000Z-old-${entryOf("a1").key}.json`,
    ]);
    expect(warnings.map(({ file }) => file)).toEqual([
      join(directory, `${entryOf("a1").key}.json.bak`),
      join(directory, "notes.txt"),
      join(directory, `old-${entryOf("a1").key}.json`),
    ]);
  });

  it("keeps an action that is written again while it forgets others", async () => {
    const { open, clock, files } = await lab();
    const journal = await open();
    for (let n = 0; n < 300; n += 1) await journal.write(entryOf(`a${n}`, "acknowledged"));
    clock.monotonic += 8 * DAY;

    const forgetting = journal.write(entryOf("b1", "acknowledged"));
    while ((await files()).length > 299) await setImmediate();
    const again = entryOf("a299", "launching");
    await Promise.all([forgetting, journal.write(again)]);

    expect(journal.find(again.key)).toEqual(again);
    expect(await files()).toEqual([`${entryOf("b1").key}.json`, `${again.key}.json`].toSorted());
  });

  it("writes the steps of one action in order", async () => {
    const { open } = await lab();
    const journal = await open();
    const steps = [entryOf("a1"), entryOf("a1", "launched"), entryOf("a1", "ended")];

    const written = steps.map((entry) => journal.write(entry));
    await written[0];
    const removed = journal.remove(entryOf("a1").key);
    const last = journal.write(entryOf("a1", "launched"));
    await Promise.all([...written, removed, last]);
    const after = await open();

    expect(after.find(entryOf("a1").key)).toEqual(entryOf("a1", "launched"));
  });

  it("keeps the newest hundred files that it set aside", async () => {
    const { directory, open, clock, setAside } = await lab();
    for (let round = 0; round < 3; round += 1) {
      clock.wallMs += 1_000;
      for (let n = 0; n < 40; n += 1) await writeFile(join(directory, `round-${round}-${n}.txt`), "x");
      await open();
    }

    const names = await setAside();

    expect(names).toHaveLength(100);
    expect(names.filter((name) => name.includes("round-0"))).toHaveLength(20);
    expect(names.filter((name) => name.includes("round-2"))).toHaveLength(40);
  });

  it("forgets acknowledged actions after a week, and no others, even if the clock is set", async () => {
    const { open, clock, files } = await lab();
    const journal = await open();
    const launched = entryOf("a0", "launched");
    await journal.write(launched);
    const entry = entryOf("a1", "acknowledged", { acknowledgedAt: new Date(NOW).toISOString() });
    await journal.write(entry);

    clock.wallMs += 24 * DAY;
    const jumpedOn = journal.find(entry.key);
    clock.wallMs -= 48 * DAY;
    clock.monotonic += 6 * DAY;
    const jumpedBack = journal.find(entry.key);
    clock.monotonic += 2 * DAY;
    const later = journal.find(entry.key);
    await journal.write(entryOf("a2", "acknowledged"));

    expect([jumpedOn, jumpedBack, later]).toEqual([entry, entry, undefined]);
    expect(journal.find(launched.key)).toEqual(launched);
    expect(await files()).toEqual([launched, entryOf("a2")].map(({ key }) => `${key}.json`).toSorted());
  });

  it("forgets an end that no server was told after a week, and no rejected one, also after a restart", async () => {
    const { open, clock } = await lab();
    const before = await open();
    const [rejected, gone] = [entryOf("a1", "rejected"), entryOf("a2", "dropped")] as const;
    const dropped = { ...gone, droppedAt: new Date(NOW).toISOString() } as JournalEntry;
    for (const each of [rejected, dropped]) await before.write(each);

    const journal = await open();
    clock.monotonic += 7 * DAY;
    const found = [rejected, dropped].map(({ key }) => journal.find(key));
    clock.monotonic += 1;

    expect(found).toEqual([rejected, dropped]);
    expect([rejected, dropped].map(({ key }) => journal.find(key))).toEqual([rejected, undefined]);
    expect(journal.unfinished()).toEqual([rejected]);
  });

  it("remembers actions that an earlier worker had acknowledged for the rest of the week", async () => {
    const { open, clock, files } = await lab();
    const entry = (actionId: string, daysAgo: number) =>
      entryOf(actionId, "acknowledged", {
        acknowledgedAt: new Date(NOW - daysAgo * DAY).toISOString(),
      });
    const recent = entry("a1", 3);
    // Their files sort before and after that one.
    const old = ["a2", "a4"].map((actionId) => entry(actionId, 8));
    const before = await open();
    for (const each of [...old, recent]) await before.write(each);

    const journal = await open();
    const found = [...old, recent].map(({ key }) => journal.find(key));
    await journal.prune();
    const ageMs = journal.ageMs(recent.key);
    clock.monotonic += 5 * DAY;

    expect(found).toEqual([undefined, undefined, recent]);
    expect(ageMs).toBe(3 * DAY);
    expect(journal.find(recent.key)).toBeUndefined();
    expect(await files()).toEqual([`${recent.key}.json`]);
  });

  it("remembers the newest 5,000", async () => {
    const { directory, open, files } = await lab();
    const open1 = entryOf("still-open", "launched");
    const ended = Array.from({ length: 5_002 }, (_, n) =>
      entryOf(`a${n}`, "acknowledged", { acknowledgedAt: new Date(NOW - 6_000 + n).toISOString() }),
    );
    // Write the entries of an earlier worker directly, because a journal syncs each write to the disk.
    for (const entry of [open1, ...ended.slice(0, 5_000)])
      await writeFile(join(directory, `${entry.key}.json`), encodeEntry(entry));
    const journal = await open();

    for (const entry of ended.slice(5_000)) await journal.write(entry);

    expect(await files()).toHaveLength(5_001);
    expect(journal.find(entryOf("a1").key)).toBeUndefined();
    expect(journal.find(entryOf("a2").key)).toBeDefined();
    expect(journal.find(open1.key)).toEqual(open1);
  });

  it("rejects what it cannot write, and keeps an end in memory", async () => {
    const { directory, open } = await lab();
    const journal = await open();
    const [launching, launched] = [entryOf("a1"), entryOf("a2", "launching")];
    await journal.write(launched);
    await rename(directory, `${directory}.away`);
    await writeFile(directory, "in the way");

    const writes = [launching, entryOf("a2", "ended"), entryOf("a3", "acknowledged")].map((entry) =>
      journal.write(entry),
    );
    const settled = await Promise.allSettled(writes);

    expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(journal.find(launching.key)).toBeUndefined();
    expect(journal.find(launched.key)).toMatchObject({ phase: "ended" });
    expect(journal.find(entryOf("a3").key)).toMatchObject({ phase: "acknowledged" });
  });

  describe("that takes no new file", () => {
    const before = entryOf("a1", "launching");

    /** What the next worker finds after a write over the entry of an earlier worker. */
    async function written(entry: JournalEntry) {
      const { directory, open } = await lab();
      await (await open()).write(before);
      const journal = await open();
      await mkdir(join(directory, `${before.key}.json.part`));

      const [settled] = await Promise.allSettled([journal.write(entry)]);

      return [settled.status, (await open()).find(before.key)?.phase];
    }

    it.each([
      ["launching", "rejected", "launching"],
      ["launched", "rejected", "launching"],
      ["ended", "fulfilled", "ended"],
      ["acknowledged", "fulfilled", "acknowledged"],
    ] as const)(
      "a write in the phase %s is %s, and an end is over the entry before it",
      async (phase, ...expected) => {
        expect(await written(entryOf("a1", phase))).toEqual(expected);
      },
    );

    it.each([
      ["ended", "rejected", "launching"],
      ["acknowledged", "fulfilled", undefined],
    ] as const)("a longer one in the phase %s is %s, and damages nothing", async (phase, ...expected) => {
      expect(await written(longEnd(10_000, phase))).toEqual(expected);
    });

    it("an action of this worker gets all its steps", async () => {
      const { directory, open } = await lab();
      const journal = await open();
      await journal.write(before);
      await mkdir(join(directory, `${before.key}.json.part`));

      for (const phase of ["launched", "ended", "acknowledged"] as const) {
        await journal.write(entryOf("a1", phase));
      }

      expect((await open()).find(before.key)).toEqual(entryOf("a1", "acknowledged"));
    });
  });

  it("rejects an entry that is too large to be read", async () => {
    const { open, files } = await lab();
    const journal = await open();

    const written = journal.write(entryOf("a1", "launching", { name: "x".repeat(70_000) }));

    await expect(written).rejects.toThrow(/larger than 65536 bytes/);
    expect(await files()).toEqual([]);
  });
});

function longEnd(length: number, phase: "ended" | "acknowledged" = "ended"): JournalEntry {
  const entry = entryOf("a1", phase);
  if (!("end" in entry)) throw new Error(`no end in ${phase}`);
  return { ...entry, end: { ...entry.end, message: "x".repeat(length) } };
}

describe("an entry survives a power loss", () => {
  it.each([
    ["launching", true, false],
    ["launching", false, true],
    ["launched", true, true],
    ["ended", true, true],
    ["rejected", true, false],
    ["acknowledged", true, false],
    ["dropped", true, false],
  ] as const)(
    "in the phase %s of an action whose being connected is %s: %s",
    (phase, connected, expected) => {
      expect(actionEntries.ruleOf(entryOf("a1", phase, { connected })).isSynced).toBe(expected);
    },
  );

  it("from the first one, if an earlier run may have had its IDs", () => {
    const entry = entryOf("a1", "launching", { connected: true });

    expect(actionEntries.ruleOf({ ...entry, action: { ...entry.action, idMayReturn: true } }).isSynced).toBe(
      true,
    );
  });
});
