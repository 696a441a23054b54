import { describe, expect, it } from "vitest";
import type { LogFields } from "../../../../shared/logger.ts";
import { MemoryJournal } from "../../../../worker/core/action/action-journal.ts";
import { type ActionEvent, noObserver } from "../../../../worker/core/action/observer.ts";
import { MachineLocks } from "../../../../worker/core/queue/action-queue.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";
import { briefRuntime, executorLab, type LabOptions, TARGET } from "./executor-lab.ts";

const REASON = "machine m1 is paused: fan replacement (inventory machines.yaml)";

/** An executor whose machine is paused until a test says otherwise. */
function lab(pausedMachines: "fail" | "wait", more: LabOptions = {}, runtime = briefRuntime()) {
  const machine = { isPaused: true };
  const decided = { times: 0 };
  const events: ActionEvent[] = [];
  const lines: string[] = [];
  const launched: string[] = [];
  const recorded = (fields: LogFields, message: string) => {
    lines.push(`${message}: ${fields["reason"]}`);
  };
  const given = executorLab(
    {
      ...runtime,
      run(request, signal) {
        launched.push(request.action.actionId);
        return runtime.run(request, signal);
      },
    },
    new MemoryJournal(),
    { ...noObserver, action: (event) => void events.push(event) },
    {
      locate() {
        decided.times += 1;
        if (!machine.isPaused) return TARGET;
        return { ...TARGET, paused: REASON, isPaused: () => machine.isPaused };
      },
      pausedMachines: () => pausedMachines,
      log: { debug: () => undefined, info: recorded, warn: recorded, error: recorded },
      ...more,
    },
  );
  const execute = (timeoutMs = 600_000) => {
    const { action } = scriptedRequest([], { action: { timeoutMs } }).request;
    return given.executor.execute(action, given.signals);
  };
  const kinds = () => events.map(({ kind }) => kind);
  return { ...given, machine, decided, events, lines, launched, execute, kinds };
}

describe("an action for a paused machine", () => {
  it("fails at once with the reason if the policy says so, and is not launched", async () => {
    const { execute, launched, lines, reports } = lab("fail");

    const outcome = await execute();

    expect(outcome).toMatchObject({ ok: false, class: "state", message: REASON });
    expect(reports.map(({ state }) => state)).toEqual(["running", "failed"]);
    expect(reports.at(-1)?.message).toContain(`failed (state): ${REASON}`);
    expect(lines).toContain(`action refused: ${REASON}`);
    expect(launched).toEqual([]);
  });

  it("waits if the policy says so, visibly and without a turn, and runs once the machine is in service", async () => {
    const locks = new MachineLocks();
    const { execute, kinds, launched, lines, events, machine, reports } = lab("wait", { locks });
    const outcome = execute();
    await expect.poll(kinds, { timeout: 60_000 }).toEqual(["taken", "progress"]);
    // Neither the lock nor a start report is taken for it.
    const release = await locks.acquire("machine m1", AbortSignal.timeout(60_000));
    release();
    const before = [...reports];
    machine.isPaused = false;

    expect(await outcome).toMatchObject({ ok: true });
    expect(before).toEqual([]);
    expect(events).toContainEqual(
      expect.objectContaining({ kind: "progress", progress: { text: REASON, limitMs: 600_000 } }),
    );
    expect(lines.filter((line) => line.startsWith("action waiting"))).toEqual([
      `action waiting: machine is paused: ${REASON}`,
    ]);
    expect(launched).toHaveLength(1);
  });

  it("is not decided again and again while it waits, because thousands may wait", async () => {
    const clock = new VirtualClock();
    const { decided, execute, kinds, machine } = lab("wait", { clock });
    void execute();
    await clock.until(() => kinds().includes("progress"), 60_000);

    await clock.until(() => clock.monotonicMs() >= 10_000, 60_000);
    const times = decided.times;
    machine.isPaused = false;
    await clock.until(() => kinds().includes("ended"), 1_000);

    expect(times).toBe(1);
  });

  it("frees its lane within a second if its Workflow was deleted while it waited, which the server does not answer", async () => {
    const clock = new VirtualClock();
    const { execute, kinds, launched, machine } = lab("wait", {
      clock,
      source: {
        report: async (_, signal) => clock.sleep(60_000, signal).then(() => ({ kind: "acknowledged" })),
      },
    });
    const outcome = execute();
    await clock.until(() => kinds().includes("progress"), 60_000);
    machine.isPaused = false;

    await clock.until(() => kinds().includes("returned"), 1_000);

    expect(await outcome).toBeUndefined();
    expect(launched).toEqual([]);
  });

  it("fails after it has waited for its time", async () => {
    const { execute, launched, reports } = lab("wait");

    const outcome = await execute(3_000);

    expect(outcome).toMatchObject({ ok: false, class: "state", message: `${REASON}; waited 3.0 s` });
    expect(reports.map(({ state }) => state)).toEqual(["running", "failed"]);
    expect(launched).toEqual([]);
  });

  it.each(["stops", "does not lead any more"])(
    "is left to the server if the worker %s while it waits",
    async (what) => {
      let isLeading = true;
      const { execute, kinds, launched, reports, stop } = lab("wait", { isLeading: () => isLeading });
      const outcome = execute();
      await expect.poll(kinds, { timeout: 60_000 }).toContain("progress");
      if (what === "stops") stop.abort();
      else isLeading = false;

      expect(await outcome).toBeUndefined();
      expect([reports, launched]).toEqual([[], []]);
      expect(kinds().at(-1)).toBe("returned");
    },
  );

  it.each([
    ["fail", "failed"],
    ["wait", "success"],
  ] as const)(
    "does not run if it was paused while the action waited for its turn: %s",
    async (policy, end) => {
      const locks = new MachineLocks();
      const release = await locks.acquire("machine m1", AbortSignal.timeout(60_000));
      const { execute, kinds, launched, machine, reports } = lab(policy, { locks });
      machine.isPaused = false;
      const outcome = execute();
      await expect.poll(kinds, { timeout: 60_000 }).toEqual(["taken"]);
      machine.isPaused = true;
      release();
      if (policy === "wait") {
        await expect.poll(kinds, { timeout: 60_000 }).toEqual(["taken", "progress"]);
        machine.isPaused = false;
      }

      await outcome;
      expect(reports.at(-1)?.state).toBe(end);
      expect(launched).toHaveLength(policy === "wait" ? 1 : 0);
    },
  );

  it("is decided anew if it was paused while its start was reported", async () => {
    const { execute, launched, machine, reports } = lab("fail", {
      source: {
        async report(status) {
          machine.isPaused = true;
          reports.push(status);
          return { kind: "acknowledged" };
        },
      },
    });
    machine.isPaused = false;

    expect(await execute()).toBeUndefined();
    expect(launched).toEqual([]);
    // The server serves it again.
    expect(await execute()).toMatchObject({ ok: false, class: "state", message: REASON });
  });

  it("is not interrupted if it runs when the machine is paused", async () => {
    const ends = Promise.withResolvers<void>();
    const brief = briefRuntime();
    const { execute, kinds, machine } = lab(
      "fail",
      {},
      {
        ...brief,
        async run(request, signal) {
          const ended = await brief.run(request, signal);
          await ends.promise;
          return ended;
        },
      },
    );
    machine.isPaused = false;
    const outcome = execute();
    await expect.poll(kinds, { timeout: 60_000 }).toContain("started");
    machine.isPaused = true;
    ends.resolve();

    expect(await outcome).toMatchObject({ ok: true });
  });
});
