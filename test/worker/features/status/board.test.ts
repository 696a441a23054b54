import { describe, expect, test } from "vitest";
import { Board } from "../../../../worker/features/status/board/board.ts";
import { getPower, Storyteller, statusClock } from "./status-lab.ts";

function boardLab(mostEnded?: number) {
  const clock = statusClock();
  const board = new Board(clock, mostEnded);
  return { clock, board, tell: new Storyteller(board.observer, clock) };
}

describe("an action", () => {
  test("waits, runs and ends, each for the time that it took", () => {
    const { board, clock, tell } = boardLab();
    const action = tell.action("a");

    tell.taken(action, "node-01");
    clock.pass(3_000);
    const waiting = board.find(action.key);
    tell.started(action, "node-01");
    clock.pass(6_200);
    const running = board.find(action.key);
    tell.ended(action, "node-01");
    tell.reported(action, "rejected");
    const ended = board.find(action.key);

    expect(waiting).toMatchObject({ phase: "waiting", sinceMs: 1_000, machine: "node-01" });
    expect(running).toMatchObject({
      phase: "running",
      sinceMs: 4_000,
      timeoutMs: 120_000,
      runtime: "docker",
    });
    expect(ended).toMatchObject({ phase: "succeeded", durationMs: 6_200, delivery: "rejected" });
    expect(board.active()).toEqual([]);
  });

  test.each([
    ["back", -86_400_000],
    ["forth", 86_400_000],
  ])("took as long as it took although the wall clock jumps %s by a day", (_, jumpMs) => {
    const { board, clock, tell } = boardLab();
    const action = tell.action("a");

    tell.started(action, "node-01");
    const startedAt = new Date(clock.now());
    clock.pass(2_000);
    clock.wallMs += jumpMs;
    tell.ended(action, "node-01", { startedAt, stoppedAt: new Date(clock.now()) });

    expect(board.find(action.key)?.durationMs).toBe(2_000);
  });

  test.each([
    ["runs since then", -60_000, 60_000],
    ["runs from now on where its start is in the future", 60_000, 0],
  ])("that an earlier worker started %s", (_, startedMs, ranMs) => {
    const { board, clock, tell } = boardLab();
    const action = tell.action("a");
    const startedAt = new Date(clock.now() + startedMs);

    tell.started(action, "node-01", { startedAt, adopted: true });
    const running = board.find(action.key);
    tell.ended(action, "node-01", { startedAt, stoppedAt: new Date(clock.now()) });

    expect(clock.monotonicMs() - (running?.sinceMs ?? Number.NaN)).toBe(ranMs);
    expect(board.find(action.key)).toMatchObject({ adopted: true, durationMs: ranMs });
  });

  test("shows what it does now, until it ends", () => {
    const { board, clock, tell } = boardLab();
    const action = tell.action("a");
    tell.started(action, "node-01");
    clock.pass(2_000);

    tell.progress(action, "shutdown requested", 60_000);
    clock.pass(1_000);
    const running = board.find(action.key);
    tell.progress(action, "waiting for power off");
    const next = board.find(action.key);
    tell.ended(action, "node-01");

    expect(running?.progress).toEqual({ text: "shutdown requested", limitMs: 60_000, sinceMs: 3_000 });
    expect(next?.progress).toEqual({ text: "waiting for power off", sinceMs: 4_000 });
    expect(board.find(action.key)?.progress).toBeUndefined();
  });

  test("that is refused has failed without having run", () => {
    const { board, tell } = boardLab();
    const action = tell.action("a");

    tell.refused(action, "policy images: no");

    const record = board.find(action.key);
    expect(record).toMatchObject({ phase: "failed", class: "usage", reason: "policy images: no" });
    expect(record).not.toHaveProperty("durationMs");
    expect(record).not.toHaveProperty("startedAt");
  });

  test("whose end an earlier worker wrote down is known by its report", () => {
    const { board, tell } = boardLab();
    const action = tell.action("a");

    tell.reported(action, "acknowledged", { state: "timeout", message: "power-off failed (timeout): late" });

    expect(board.failures()).toMatchObject([{ reason: "power-off failed (timeout): late", adopted: true }]);
  });

  test("that is released is removed, also from its machine", () => {
    const { board, tell } = boardLab();
    const action = tell.action("a");

    tell.taken(action, "node-01");
    tell.line(action, "a line");
    tell.left(action);

    expect(board.find(action.key)).toBeUndefined();
    expect(board.active()).toEqual([]);
    expect(board.log(action.key).lines).toEqual([]);
  });

  test("of a workflow made anew takes the place of the one before", () => {
    const { board, tell } = boardLab();
    const action = tell.action("a");
    tell.whole(action, "node-01", { ok: false, class: "tls", message: "no" });

    tell.taken(action, "node-01");

    expect(board.find(action.key)?.phase).toBe("waiting");
    expect(board.ended()).toEqual([]);
    expect(board.machine("node-01")?.last).toBeUndefined();
  });

  test("has the lines of its hook among its own", () => {
    const { board, tell } = boardLab();
    const action = tell.action("a");
    tell.started(action, "node-01");

    tell.line(action, "of the action");
    tell.line(tell.action("a", { actionId: "a/on-failure" }), "of the hook");
    tell.line(tell.action("unknown"), "of an unknown action");

    expect(board.log(action.key).lines.map(({ text }) => text)).toEqual(["of the action", "of the hook"]);
  });
});

describe("the power of a machine", () => {
  const base = { action: "x", ok: true, message: "m", durationMs: 1, roundTrips: 1 };

  test.each([
    ["a power action", { ...base, before: "on", after: "off" }, "off"],
    ["a reading", { ...base, data: { power: "on" } }, "on"],
    ["the last power task of a list", tasks("on", "off", { device: "pxe" }), "off"],
    ["something transitional", { ...base, after: "unknown" }, "unknown"],
  ])("is what %s has read last", (_, result, state) => {
    const { board, clock, tell } = boardLab();
    tell.whole(tell.action("before", { name: "power-on" }), "node-01", getPower("on"));
    clock.pass(5_000);

    tell.whole(tell.action("a", { name: "reader" }), "node-01", { result });

    expect(board.machine("node-01")?.power).toMatchObject({ state, by: "reader", sinceMs: 6_000 });
  });

  test.each([
    ["says nothing of it", { ...base }],
    ["reads another thing", { ...base, after: { device: "pxe", persistent: false } }],
    ["failed before it read it", { ...base, ok: false, before: "on" }],
  ])("stays as it was last seen when an action %s", (_, result) => {
    const { board, clock, tell } = boardLab();
    tell.whole(tell.action("before"), "node-01", getPower("off"));
    clock.pass(5_000);

    tell.whole(tell.action("a"), "node-01", { ok: result.ok, result });

    expect(board.machine("node-01")?.power).toMatchObject({ state: "off", sinceMs: 1_000 });
  });

  function tasks(...after: readonly unknown[]) {
    return { ...base, data: { tasks: after.map((state) => ({ task: "t", after: state })) } };
  }
});

describe("failures", () => {
  test("are machines whose last action failed, the newest first, until one succeeds", () => {
    const { board, tell } = boardLab();
    const failed = { ok: false, class: "unreachable" as const, message: "no answer" };

    for (const name of ["one", "two", "three"]) tell.whole(tell.action(`${name}-1`), name, failed);
    tell.whole(tell.action("two-2"), "two");
    tell.refused(tell.action("nowhere", { agentId: "other" }), "no such machine");

    expect(board.failures().map(({ action }) => action.actionId)).toEqual(["nowhere", "three-1", "one-1"]);
  });
});

describe("an agent ID", () => {
  test("has the code of its last failed poll, and the time since it fails", () => {
    const { board, clock, tell } = boardLab();

    tell.failing("pbnj", "Unavailable");
    clock.pass(1_000);
    tell.failing("pbnj", "DeadlineExceeded");

    expect(board.agents()).toMatchObject([{ state: "failing", code: "DeadlineExceeded", sinceMs: 1_000 }]);
  });

  test("changes nothing by polling on, and goes when it ends", () => {
    const { board, tell } = boardLab();
    tell.observer.lane("pbnj", "polling");
    const { revision } = board;

    tell.observer.poll({ agentId: "pbnj", code: "OK", kind: "idle", durationMs: 60_000 });
    tell.observer.lane("pbnj", "polling");
    const polled = board.revision;
    tell.observer.lane("pbnj", undefined);

    expect(polled).toBe(revision);
    expect(board.agents()).toEqual([]);
  });
});

describe("what is kept is bounded", () => {
  test("of a machine: ten changes of its power, three failures", () => {
    const { board, clock, tell } = boardLab(1);
    for (let index = 0; index < 30; index += 1) {
      clock.pass(1_000);
      const outcome = { ...getPower(index % 2 === 0 ? "on" : "off"), ok: false, message: "x".repeat(1_000) };
      tell.whole(tell.action(`a-${index}`), "node-01", outcome);
    }

    const { powerChanges = [], failures = [] } = board.machine("node-01") ?? {};

    expect(powerChanges).toHaveLength(10);
    expect(failures).toHaveLength(3);
    expect(failures[0]).toMatchObject({ key: tell.action("a-29").key });
    expect(failures[0]?.reason).toHaveLength(1_000);
  });

  test("of an action: the first 50 retries", () => {
    const { board, clock, tell } = boardLab();
    const action = tell.action("a");
    tell.taken(action);
    clock.pass(2_000);
    tell.started(action);
    for (let attempt = 1; attempt <= 60; attempt += 1) {
      clock.pass(1_000);
      tell.line(action, JSON.stringify({ level: 30, msg: "BMC call failed, retrying", attempt }));
    }
    tell.line(action, JSON.stringify({ level: 30, msg: "done", attempt: "two" }));

    expect(board.find(action.key)).toMatchObject({ waitedMs: 2_000, retriesMs: { 0: 1_000, length: 50 } });
  });

  test("after 10,000 actions at 100 machines and a thousand without one", () => {
    const { board, tell } = boardLab();
    const long = "x".repeat(5_000);

    for (let index = 0; index < 10_000; index += 1) {
      const action = tell.action(`a-${index}`, { agentId: long });
      const machine = index % 10 === 0 ? undefined : `node-${index % 100}`;
      tell.taken(action, machine);
      tell.started(action, machine);
      for (let line = 0; line < 3; line += 1) tell.line(action, long);
      tell.ended(action, machine);
      tell.reported(action);
    }

    const logs = board.ended().map(({ action }) => board.log(action.key));
    expect(board.kept().machines).toHaveLength(90);
    expect(board.ended().length).toBeLessThanOrEqual(200 + 90);
    expect(board.active()).toEqual([]);
    expect(logs.every(({ lines }) => lines.length === 3 && lines[0]?.text.length === 1_000)).toBe(true);
    expect(board.ended()[0]?.action.agentId).toHaveLength(300);
  });

  test("the last action of each machine stays, however long ago it was", () => {
    const { board, tell } = boardLab(5);
    const first = tell.action("first");
    tell.whole(first, "quiet");
    const second = tell.action("second");

    for (let index = 0; index < 20; index += 1) tell.whole(tell.action(`a-${index}`), "busy");
    const kept = board.find(first.key);
    tell.whole(second, "quiet");

    expect(kept?.machine).toBe("quiet");
    expect(board.find(first.key)).toBeUndefined();
    expect(board.machine("quiet")?.last).toBe(second.key);
    expect(board.ended()).toHaveLength(5);
  });

  test("a machine that the inventory no longer has goes, unless something runs there", () => {
    const { board, tell } = boardLab();
    board.know(() => ["kept"]);
    for (const name of ["kept", "gone", "busy"]) tell.whole(tell.action(name), name);
    tell.started(tell.action("busy-2"), "busy");

    tell.observer.file({ name: "inventory", taken: true });

    expect(board.machine("kept")?.name).toBe("kept");
    expect(board.machine("busy")?.name).toBe("busy");
    expect(board.machine("gone")).toBeUndefined();
  });
});
