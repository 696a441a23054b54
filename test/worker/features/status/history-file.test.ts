import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type LogFields, type Logger, silentLogger } from "../../../../shared/logger.ts";
import { Board } from "../../../../worker/features/status/board/board.ts";
import { HistoryFile } from "../../../../worker/features/status/history-file.ts";
import { fileFolder } from "../../../support/test-folder.ts";
import { getPower, Storyteller, statusClock } from "./status-lab.ts";

const { folder } = await fileFolder();
/** A worker's board on this file, and what is logged about it. */
async function opened(path: string, machines: readonly string[] = ["node-01", "node-02"], mostEnded = 200) {
  const clock = statusClock();
  const board = new Board(clock, mostEnded);
  board.know(() => machines);
  const warnings: LogFields[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (fields, message) => void warnings.push({ ...fields, message }),
  };
  const file = new HistoryFile(path, board, clock, log);
  await file.open();
  return { board, clock, file, warnings, tell: new Storyteller(board.observer, clock) };
}

describe("the history of the status page", () => {
  test("survives a restart: ended actions, their order, the machines' power, how long ago", async () => {
    const path = join(folder, "kept.json");
    const first = await opened(path);
    const [good, bad] = [first.tell.action("good"), first.tell.action("bad")];
    first.tell.started(good, "node-01");
    first.tell.ended(good, "node-01", { ...getPower("on"), machineFacts: { serial: "S1" } });
    first.tell.started(bad, "node-02");
    first.tell.ended(bad, "node-02", { ok: false, class: "auth", message: "refused" });
    first.tell.started(first.tell.action("running"), "node-02");
    first.clock.pass(5_000);
    await first.file.close(true);

    const { board, clock } = await opened(path);

    expect(board.ended().map(({ action }) => action.key)).toEqual([bad.key, good.key]);
    expect(board.find(bad.key)).toMatchObject({
      phase: "failed",
      class: "auth",
      reason: "refused",
      machine: "node-02",
    });
    expect(board.failures().map(({ action }) => action.key)).toEqual([bad.key]);
    expect(board.active()).toEqual([]);
    expect(board.machine("node-01")).toMatchObject({
      ...{ last: good.key, power: { state: "on" }, powerChanges: [{ state: "on" }] },
      known: { facts: { serial: "S1" }, by: "power-off" },
    });
    expect(board.machine("node-02")?.failures).toMatchObject([
      { key: bad.key, class: "auth", reason: "refused" },
    ]);
    expect(board.activity().at(-1)).toMatchObject({ succeeded: 1, failed: 1 });
    expect(board.find(good.key)?.sinceMs).toBeLessThanOrEqual(clock.monotonicMs());
  });

  test("leaves out machines that are no longer in the inventory, and old actions beyond the limit", async () => {
    const path = join(folder, "bounded.json");
    const first = await opened(path);
    for (const name of ["a", "b", "c"]) first.tell.ended(first.tell.action(name), "node-01");
    await first.file.close(true);

    const { board } = await opened(path, ["node-02"], 2);

    expect(board.ended()).toHaveLength(2);
    expect(board.machine("node-01")).toBeUndefined();
  });

  test("of an earlier version is read", async () => {
    const path = join(folder, "earlier.json");
    const machine = {
      name: "node-01",
      power: { state: "on", at: "2026-11-21T02:00:00.000Z", by: "power-on" },
    };
    await writeFile(path, JSON.stringify({ version: 1, actions: [], machines: [machine] }));

    const { board, warnings, file } = await opened(path);
    await file.close(true);

    expect(warnings).toEqual([]);
    expect(board.machine("node-01")).toMatchObject({ power: { state: "on" }, failures: [] });
  });

  test("is not written where the directory may be another worker's", async () => {
    const path = join(folder, "lost.json");
    const { file, tell } = await opened(path);
    tell.ended(tell.action("a"), "node-01");

    await file.close(false);

    await expect(readFile(path)).rejects.toThrow("ENOENT");
  });

  test.each([
    ["no JSON", "{"],
    ["of another version", JSON.stringify({ version: 2, actions: [], machines: [] })],
    [
      "with a field that is too long",
      JSON.stringify({ version: 1, actions: [], machines: [{ name: "x".repeat(9_000) }] }),
    ],
  ])("is empty where the file is %s, with one warning", async (_, text) => {
    const path = join(folder, "damaged.json");
    await writeFile(path, text);

    const { board, warnings, file } = await opened(path);
    await file.close(true);

    expect(board.ended()).toEqual([]);
    expect(warnings).toMatchObject([{ message: "status page history unreadable", file: path }]);
  });

  test("that cannot be saved is a warning, and is saved later", async () => {
    const path = join(folder, "missing/history.json");
    const { file, tell, warnings } = await opened(path);
    tell.ended(tell.action("a"), "node-01");

    await file.close(true);

    expect(warnings).toMatchObject([{ message: "status page history not saved, retrying" }]);
  });
});
