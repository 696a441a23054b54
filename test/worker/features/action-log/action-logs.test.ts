import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import type { Outcome } from "../../../../worker/core/action/action.ts";
import { type ActionEvent, type SeenAction, seenAction } from "../../../../worker/core/action/observer.ts";
import { ActionLogs } from "../../../../worker/features/action-log/action-logs.ts";
import { keptLog } from "../../../support/kept-log.ts";
import { testFolder } from "../../../support/test-folder.ts";

const MEBIBYTE = 1024 * 1024;
const startedAt = new Date("2026-11-21T16:13:08.000Z");
const at = new Date("2026-11-21T16:13:09.500Z");

const FAILED: Outcome = {
  ok: false,
  class: "auth",
  exitCode: 10,
  message: "the BMC refused the password",
  startedAt,
  stoppedAt: new Date("2026-11-21T16:13:10.300Z"),
  timedOut: false,
  killed: false,
};

function action(actionId = "a1", name = "power-off"): SeenAction {
  const ids = { workflowId: "tink/wf", taskId: "bmc", agentId: "pbnj-node-01", actionId, name };
  return seenAction({ ...ids, image: "registry.example/power-off:v1" });
}

function started(of: SeenAction, adopted = false): ActionEvent {
  const how = { runtime: "process", startedAt, timeoutMs: 60_000, adopted };
  return { kind: "started", action: of, machine: "node-01", ...how };
}

function line(of: SeenAction, text: string): ActionEvent {
  return { kind: "line", action: of, line: { stream: "stderr", line: text }, at };
}

const ended = (of: SeenAction): ActionEvent => ({
  kind: "ended",
  action: of,
  runtime: "process",
  outcome: FAILED,
});

const reported = (of: SeenAction): ActionEvent => ({
  kind: "reported",
  action: of,
  delivery: "acknowledged",
  status: { state: "failed", message: FAILED.message, startedAt },
  at,
});

let folder: string;
let directory: string;
beforeEach(async () => {
  ({ folder } = await testFolder());
  directory = join(folder, "logs");
});

function openLogs(maxBytes = 256 * MEBIBYTE) {
  const { said, log } = keptLog();
  const options = {
    directory,
    maxAgeMs: 24 * 3_600_000,
    maxBytes,
    clock: { ...systemClock, now: () => at.getTime() },
    log,
  };
  const logs = new ActionLogs(options);
  return {
    logs,
    said,
    tell: (...events: readonly ActionEvent[]) =>
      events.forEach((event) => void logs.observer.action?.(event)),
  };
}

async function files(): Promise<readonly string[]> {
  const names = await readdir(directory, { recursive: true });
  return names.filter((name) => name.endsWith(".log")).toSorted();
}

async function onlyFile(): Promise<string> {
  const [name, ...others] = await files();
  expect(others).toEqual([]);
  return readFile(join(directory, name ?? ""), "utf8");
}

describe("the log of an action", () => {
  it("tells what it is, every line, and the outcome, in a file with the action's name", async () => {
    const { logs, said, tell } = openLogs();
    const one = action();

    tell(started(one), line(one, "connecting"), ended(one), reported(one));
    await logs.close();

    expect(await files()).toEqual([`tink_wf/20261121T161308.000Z-power-off-${one.key.slice(0, 8)}.log`]);
    expect((await onlyFile()).split("\n")).toEqual([
      "# workflow=tink/wf task=bmc action=power-off machine=node-01 agentId=pbnj-node-01 actionId=a1",
      expect.stringMatching(
        /^# image=registry\.example\/power-off:v1 runtime=process started=2026-11-21T16:13:08\.000Z timeout="60\.0 s"|1m/,
      ),
      "2026-11-21T16:13:09.500Z stderr connecting",
      "# ended 2026-11-21T16:13:10.300Z after 2.3 s: failed (auth, exit 10): the BMC refused the password",
      "# 2026-11-21T16:13:09.500Z report acknowledged by the server",
      "",
    ]);
    expect(said).toEqual([]);
  });

  it("is there while the action runs", async () => {
    const { logs, tell } = openLogs();
    const one = action();

    tell(started(one), line(one, "connecting"));

    await vi.waitFor(async () => expect(await onlyFile()).toContain("connecting"), 30_000);
    await logs.close();
    expect(await onlyFile()).toContain("the worker stopped");
  });

  it("continues in the same file when a restarted worker adopts the action", async () => {
    const one = action();
    const before = openLogs();
    before.tell(started(one), line(one, "before"));
    await before.logs.close();

    const after = openLogs();
    after.tell(started(one, true), line(one, "after"), ended(one), reported(one));
    await after.logs.close();

    const text = await onlyFile();
    expect(text.match(/^# workflow=/gm)).toHaveLength(1);
    expect(text).toMatch(/before[\s\S]*worker restarted, action adopted[\s\S]*after[\s\S]*# ended/);
  });

  it("has its hook's lines, which come after its end", async () => {
    const { logs, tell } = openLogs();
    const one = action("0/power-off");

    tell(started(one), ended(one), line(action("0/power-off/on-failure"), "cleaning up"), reported(one));
    await logs.close();

    expect(await onlyFile()).toContain("stderr on-failure cleaning up\n");
  });

  it("says that the action was left, and another run of it has another file", async () => {
    const { logs, tell } = openLogs();
    const one = action();
    const again = { ...started(one), startedAt: new Date("2026-11-21T16:20:00.000Z") };

    tell(started(one), { kind: "returned", action: one, at }, again, ended(one), reported(one));
    await logs.close();

    expect(await files()).toHaveLength(2);
    expect(await readFile(join(directory, (await files())[0] ?? ""), "utf8")).toContain(
      "not finished: the server serves it again",
    );
  });

  it("is not made for an action that was refused", async () => {
    const { logs, tell } = openLogs();
    const one = action();

    tell({ kind: "taken", action: one, at }, { kind: "refused", action: one, reason: "no", at }, ended(one));
    tell(reported(one));
    await logs.close();

    await expect(files()).rejects.toThrow("ENOENT");
  });

  it("of two whose names would be the same are two files", async () => {
    const { logs, tell } = openLogs();
    const one = action();
    const other = { ...action(), key: `${one.key.slice(0, 8)}${"f".repeat(24)}` };

    tell(started(one), started(other), line(one, "of one"), line(other, "of the other"));
    tell(reported(one), reported(other));
    await logs.close();

    const texts = await Promise.all((await files()).map((name) => readFile(join(directory, name), "utf8")));
    expect(texts.map((text) => /of (one|the other)/.exec(text)?.[0]).toSorted()).toEqual([
      "of one",
      "of the other",
    ]);
  });
});

describe("under pressure", () => {
  it("a thousand actions at once have a thousand files, one open at a time", async () => {
    const { logs, tell } = openLogs();
    const all = Array.from({ length: 1_000 }, (_, number) => action(`a${number}`));
    let mostOpen = 0;
    const look = async () => {
      const targets = await readdir("/proc/self/fd").catch(() => []);
      mostOpen = Math.max(mostOpen, targets.length);
    };
    await look();
    const before = mostOpen;

    for (const one of all) tell(started(one), line(one, "x"));
    await look();
    for (const one of all) tell(ended(one), reported(one));
    await vi.waitFor(
      async () => {
        await look();
        expect(await files()).toHaveLength(1_000);
      },
      { timeout: 100_000 },
    );
    await logs.close();

    expect(mostOpen - before).toBeLessThan(10);
  });
});

describe("when the disk does not take it", () => {
  it("says so once, says when it works again, and counts what is missing", async () => {
    await writeFile(directory, "a file in the directory's place");
    const { logs, said, tell } = openLogs();
    const one = action();
    tell(started(one), line(one, "lost 1"));
    await vi.waitFor(() => expect(said).toHaveLength(1), 30_000);
    tell(line(one, "still waiting"), reported(action("other")));

    await rm(directory);
    await vi.waitFor(() => expect(said).toHaveLength(2), { timeout: 10_000 });
    tell(ended(one), reported(one));
    await logs.close();

    expect(said.map(({ level, message }) => [level, message])).toEqual([
      ["warn", "action log write failed"],
      ["info", "action log writes recovered"],
    ]);
    expect(said[0]?.fields).toMatchObject({ error: expect.stringMatching(/ENOTDIR|EEXIST/) });
    expect(await onlyFile()).toMatch(
      /^# workflow=[\s\S]*# 1 line is missing here[\s\S]*still waiting[\s\S]*# ended/,
    );
  });

  it("gives up those that have ended, and is closed all the same", async () => {
    await writeFile(directory, "a file in the directory's place");
    const { logs, said, tell } = openLogs();

    for (let number = 0; number < 100; number += 1) {
      const one = action(`a${number}`);
      tell(started(one), line(one, "x"), ended(one), reported(one));
    }
    await logs.close();

    expect(said).toHaveLength(1);
    expect(await readFile(directory, "utf8")).toBe("a file in the directory's place");
  });

  it("begins anew, and says so, when the files are taken away under it", async () => {
    const { logs, said, tell } = openLogs();
    const one = action();
    tell(started(one), line(one, "before"));
    await vi.waitFor(async () => expect(await onlyFile()).toContain("before"), 30_000);

    await rm(directory, { recursive: true });
    tell(line(one, "after"), ended(one), reported(one));
    await logs.close();

    expect(await onlyFile()).toMatch(
      /^# workflow=[\s\S]*the file was removed, starting a new one\n[^\n]*after\n# ended/,
    );
    expect(said).toEqual([]);
  });
});
