import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, test, vi } from "vitest";
import { silentLogger } from "../../shared/logger.ts";
import {
  type Action,
  type ActionStatus,
  actionKey,
  WorkflowDeleted,
} from "../../worker/core/action/action.ts";
import { MemoryJournal } from "../../worker/core/action/action-journal.ts";
import { bootTimeIn } from "../../worker/core/action/boot-time.ts";
import type { JournalEntry, JournalPhase } from "../../worker/core/action/entry.ts";
import { type ActionEvent, noObserver, type Observers } from "../../worker/core/action/observer.ts";
import {
  type Adoption,
  outputOptions,
  type ReturnedAction,
  type Runtime,
} from "../../worker/core/ports/runtime.ts";
import type { Acknowledgement } from "../../worker/core/ports/source.ts";
import type { LockOwner } from "../../worker/core/queue/action-queue.ts";
import { TO_BEGIN } from "../../worker/features/legacy/legacy-messages.ts";
import { actionLabels } from "../../worker/runtimes/docker/container-spec.ts";
import { DockerRuntime } from "../../worker/runtimes/docker/docker-runtime.ts";
import { LogStream } from "../../worker/runtimes/log-stream.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { entryOf } from "./core/journal/entries.ts";
import { FullJournal } from "./core/journal/full-journal.ts";
import { journalLab } from "./core/journal/journal-lab.ts";
import {
  briefRuntime,
  executorLab,
  idleRuntime,
  type LabOptions,
  type LabTarget,
  TARGET,
} from "./core/run/executor-lab.ts";
import { empty, FakeEngine, inTurn, json } from "./runtimes/docker/fake-engine.ts";
import { canary, scriptedRequest, testConnection } from "./runtimes/launch-request.ts";

const NOW_ENDED = { startedAt: new Date(), stoppedAt: new Date() };
const WITHHELD = "[withheld: the machine's credentials cannot be read, so they cannot be redacted]";

/** One that an earlier worker left. */
class LeftJournal extends MemoryJournal {
  override unfinished(): readonly JournalEntry[] {
    return this.#left;
  }
  readonly #left: readonly JournalEntry[];

  constructor(left: readonly JournalEntry[]) {
    super();
    this.#left = left;
  }
}

describe("an action whose step cannot be recorded", () => {
  it.each([
    ["launching", []],
    ["launched", ["running"]],
  ] as const)("%s is not run and not failed, and runs when it is served again", async (phase, before) => {
    const runtime = briefRuntime();
    const journal = new FullJournal(phase);
    const { executor, reports, signals } = executorLab(runtime, journal);
    const { action } = scriptedRequest(["host"]).request;

    const first = await executor.execute(action, signals);
    const reported = reports.map(({ state }) => state);
    const known = journal.find(actionKey(action));
    const second = await executor.execute(action, signals);
    await runtime.close();

    expect(first).toBeUndefined();
    expect(reported).toEqual(before);
    expect(known).toBeUndefined();
    expect(second).toMatchObject({ ok: true, message: "done" });
    expect(journal.find(actionKey(action))).toMatchObject({ phase: "acknowledged" });
  });

  // Without an acknowledgement on record, the next worker needs the container to know how the action ended.
  it.each([
    ["ended", 1],
    ["acknowledged", 0],
  ] as const)("%s is reported all the same, and removed %i times", async (phase, removals) => {
    const remove = vi.fn(async () => undefined);
    const runtime = briefRuntime({ remove });
    const journal = new FullJournal(phase);
    const { executor, reports, signals } = executorLab(runtime, journal);

    const outcome = await executor.execute(scriptedRequest(["host"]).request.action, signals);
    await runtime.close();

    expect(outcome).toMatchObject({ ok: true });
    expect(reports.map(({ state }) => state)).toEqual(["running", "success"]);
    expect(journal.written).not.toContain(phase);
    expect(remove).toHaveBeenCalledTimes(removals);
  });

  it("acknowledged is recorded by the sweep, which then removes the action", async () => {
    const journal = new FullJournal("acknowledged");
    const phases: (JournalPhase | undefined)[] = [];
    const { action } = scriptedRequest(["host"]).request;
    const remove = async () => void phases.push(journal.find(actionKey(action))?.phase);
    const { executor, signals, recoverDuring } = executorLab(briefRuntime({ remove }), journal);

    await recoverDuring(async () => {
      await executor.execute(action, signals);
      await vi.waitFor(() => expect(phases).toEqual(["acknowledged"]), { timeout: 5_000 });
    });
  });
});

it.each([
  ["behind", -3_600_000],
  ["ahead", 3_600_000],
])(
  "an action's end is not before its start, nor in the future, with its node's clock an hour %s",
  async (_, byMs) => {
    const runtime = briefRuntime();
    const startedAt = new Date(Date.now() + byMs);
    const times = { startedAt, stoppedAt: new Date(startedAt.getTime() + 4_000) };
    const run: Runtime["run"] = async (...request) => {
      const ended = await runtime.run(...request);
      return { ...ended, outcome: { ...ended.outcome, ...times } };
    };
    const { executor, reports, signals } = executorLab({ ...runtime, run }, new MemoryJournal());

    await executor.execute(scriptedRequest(["host"]).request.action, signals);

    const [begun, over] = reports;
    const tookMs = Number(over?.stoppedAt) - Number(begun?.startedAt);
    expect(tookMs).toBeGreaterThanOrEqual(4_000);
    expect(tookMs).toBeLessThan(600_000);
  },
);

it.each([
  ["gets a connection cannot act before", { connect: async () => testConnection() }, true],
  ["gets none may act as soon as it exists", {}, false],
])("an action that %s, and its entry says so before the launch", async (_, connect, connected) => {
  const entries: JournalEntry[] = [];
  class RecordingJournal extends MemoryJournal {
    override async write(entry: JournalEntry): Promise<void> {
      entries.push(entry);
      await super.write(entry);
    }
  }
  const { executor, signals } = executorLab(briefRuntime(), new RecordingJournal(), noObserver, {
    locate: () => ({ ok: true, machine: "m1", lockKey: "bmc.example", ...connect }),
  });
  const { action } = scriptedRequest(["host"]).request;

  await executor.execute({ ...action, timeoutMs: 0, returningIds: TO_BEGIN }, signals);
  await executor.execute({ ...action, actionId: "another", timeoutMs: 7_000 }, signals);

  const boot = bootTimeIn(0);
  expect(entries[0]).toMatchObject({
    ...{ phase: "launching", connected, machine: "m1", lockKey: "bmc.example", timeoutMs: 60_000 },
    action: { idMayReturn: true },
    ...(boot && { startedBootTime: expect.any(String) }),
  });
  expect(entries.find(({ action }) => action.actionId === "another")).toMatchObject({ timeoutMs: 7_000 });
});

test("an action whose workflow is deleted is stopped, and its end is not reported", async () => {
  const runtime = briefRuntime({ untilCancelled: true });
  const journal = new MemoryJournal();
  const deleted = new AbortController();
  const started = Promise.withResolvers<void>();
  const events: ActionEvent[] = [];
  const observer = {
    ...noObserver,
    action: (event: ActionEvent) => {
      events.push(event);
      if (event.kind === "line") started.resolve();
    },
  };
  const { executor, reports, signals } = executorLab(runtime, journal, observer, {
    source: { deletions: { cancelOf: () => deleted.signal } },
  });
  const { action } = scriptedRequest(["err:begun\\n", "sleep:60000"]).request;

  const ran = executor.execute(action, signals);
  await started.promise;
  deleted.abort(new WorkflowDeleted(action.workflowId));
  const outcome = await ran;
  await runtime.close();

  expect(outcome).toMatchObject({ ok: false, class: "cancelled" });
  expect(reports.map(({ state }) => state)).toEqual(["running"]);
  expect(journal.find(actionKey(action))).toMatchObject({ phase: "dropped" });
  expect(events.at(-1)).toMatchObject({ kind: "reported", delivery: "dropped" });
});

describe("an engine that is not ready when the worker restarts", () => {
  const entry = entryOf("a1", "launched");
  const { idMayReturn: _idMayReturn, ...identity } = entry.action;
  const action: Action = { ...identity, timeoutMs: 60_000, command: [], volumes: [], environment: {} };
  const zero = "0001-01-01T00:00:00Z";
  const created = json(200, {
    Id: "c1",
    State: { Status: "created", ExitCode: 0, StartedAt: zero, FinishedAt: zero },
    Config: { Labels: actionLabels(action, { worker: "w" }, 0) },
  });
  const failing = json(500, { message: "the storage driver is starting" });

  function runtimeAt(engine: FakeEngine): DockerRuntime {
    return new DockerRuntime({
      log: silentLogger,
      socketPath: engine.socketPath,
      container: { worker: "w", state: "s1" },
    });
  }

  it("is asked for orphans until it answers, and they are removed", async () => {
    const labels = { "pbnj-worker.state": "s1", "pbnj-worker.key": "k", "pbnj-worker.deadline": zero };
    const engine = await FakeEngine.start({
      "GET /containers/json": inTurn(failing, failing, json(200, [{ Id: "c9", Labels: labels }])),
      "DELETE /containers/*": empty(204),
    });
    const runtime = runtimeAt(engine);
    const { recoverDuring } = executorLab(runtime, new MemoryJournal());

    await recoverDuring(async () => {
      await expect.poll(() => engine.requests).toContain("DELETE /containers/c9?force=1&v=1");
    });
    await runtime.close();
    await engine.stop();

    expect(engine.requests.filter((request) => request.startsWith("GET /containers/json"))).toHaveLength(3);
  });

  it("keeps the entry of an action whose adoption fails, and retries", async () => {
    const engine = await FakeEngine.start({
      "GET /containers/json": json(200, []),
      "GET /containers/*/json": created,
      "DELETE /containers/*": inTurn(failing, empty(204)),
    });
    const runtime = runtimeAt(engine);
    const journal = new LeftJournal([{ ...entry, runtime: "docker" }]);
    await journal.write({ ...entry, runtime: "docker" });
    const { executor, reports, stop, signals } = executorLab(runtime, journal);
    const removals = () =>
      engine.requests.filter((request) => request === "DELETE /containers/c1?v=1").length;

    const recovered = executor.recover(signals);
    await expect.poll(removals).toBe(1);
    const kept = journal.find(entry.key)?.phase;
    // It waits for the adoption in flight.
    await executor.execute(action, signals);
    const after = journal.find(entry.key);
    stop.abort();
    await recovered;
    await runtime.close();
    await engine.stop();

    expect(kept).toBe("launched");
    expect(after).toBeUndefined();
    expect(removals()).toBe(2);
    expect(reports).toEqual([]);
  });
});

describe("an action of an earlier run", () => {
  const hourMs = 3_600_000;

  it.runIf(process.platform === "linux").each([
    ["was not set, its start was an hour ago", hourMs, 0],
    ["was set forward by two hours", 0, 2 * hourMs],
    ["was set back by two hours", 0, -2 * hourMs],
  ])("is adopted with the clock's shift: it %s", async (_, agoMs, setMs) => {
    const adopted: ReturnedAction[] = [];
    const runtime = idleRuntime({
      adopt: async (left) => {
        adopted.push(left);
        return { kind: "not-launched" };
      },
    });
    const boot = bootTimeIn(-agoMs);
    const entry = {
      ...entryOf("a1", "launched"),
      runtime: "docker",
      startedAt: new Date(Date.now() - agoMs - setMs).toISOString(),
      ...(boot && { startedBootTime: boot }),
    };
    const { recoverDuring } = executorLab(runtime, new LeftJournal([entry]));

    await recoverDuring(() => expect.poll(() => adopted.length).toBe(1));

    // A minute of room for slow machines.
    expect(Math.abs((adopted[0]?.clockSetMs ?? Number.NaN) - setMs)).toBeLessThan(60_000);
  });

  it("counts in the limits that it shares with other machines, until it has ended", async () => {
    const ends = Promise.withResolvers<void>();
    const waits: (string | undefined)[] = [];
    const runtime = {
      ...briefRuntime(),
      adopt: async () => {
        await ends.promise;
        return { kind: "not-launched" } as const;
      },
    };
    const entry = { ...entryOf("a1", "launched"), runtime: runtime.name };
    const observer: Observers = {
      ...noObserver,
      action: (event) => void (event.kind === "progress" && waits.push(event.progress?.text)),
    };
    const { executor, signals, recoverDuring } = executorLab(runtime, new LeftJournal([entry]), observer, {
      locate: () => ({ ...TARGET, machine: "other", lockKey: "other" }),
      limitsOf: () => [{ key: "rack=r1", of: "rack=r1", atOnce: 1 }],
    });

    await recoverDuring(async () => {
      const next = executor.execute(scriptedRequest([]).request.action, signals);
      await expect.poll(() => waits).toEqual(["waiting for the limit of rack=r1 (1 at once)"]);
      ends.resolve();
      expect(await next).toMatchObject({ ok: true });
    });
    await runtime.close();
  });

  it("fails if another runtime launched it, and is not run again", async () => {
    const runtime = briefRuntime();
    const entry = { ...entryOf("a1", "launched", { name: "power-cycle" }), runtime: "docker" };
    const { reports, recoverDuring } = executorLab(runtime, new LeftJournal([entry]));

    await recoverDuring(() => expect.poll(() => reports.length).toBe(1));
    await runtime.close();

    expect(reports[0]).toMatchObject({
      state: "failed",
      message:
        "power-cycle failed (internal): the worker was restarted with the runtime process, it ran with docker; " +
        "it may have been carried out and is not idempotent, so it is not run again",
    });
  });

  it("is reported by a replica when it is served again, and is forgotten after a week", async () => {
    const clock = new VirtualClock();
    const WEEK_MS = 7 * 24 * 60 * 60_000;
    const endedNow = (actionId: string) => {
      const entry = entryOf(actionId, "ended");
      if ("end" in entry) Object.assign(entry.end, { stoppedAt: new Date(clock.now()).toISOString() });
      return entry;
    };
    const [served, other] = [endedNow("a0"), endedNow("a1")] as const;
    const journal = new LeftJournal([served, other]);
    for (const entry of journal.unfinished()) await journal.write(entry);
    const { executor, reports, stop, signals } = executorLab(briefRuntime(), journal, noObserver, {
      clock,
      source: { isShared: true },
    });

    const recovered = executor.recover(signals);
    const atOnce = reports.length;
    const { workflowId, actionId } = served.action;
    const { action } = scriptedRequest(["host"]).request;
    await executor.execute({ ...action, workflowId, actionId }, signals);
    await clock.until(() => journal.find(other.key) === undefined, 2 * WEEK_MS);
    stop.abort();
    await recovered;

    expect(atOnce).toBe(0);
    expect(reports.map(({ action }) => action.actionId)).toEqual(["a0"]);
    expect(clock.monotonicMs()).toBe(WEEK_MS);
    expect(journal.find(served.key)).toMatchObject({ phase: "acknowledged" });
  });

  it("is served again if another runtime was only about to launch it", async () => {
    const entry = { ...entryOf("a1", "launching"), runtime: "docker" };
    const journal = new LeftJournal([entry]);
    await journal.write(entry);
    const { reports, recoverDuring } = executorLab(briefRuntime(), journal);

    await recoverDuring(() => expect.poll(() => journal.find(entry.key)).toBe(undefined));

    expect(reports).toEqual([]);
  });

  it.each([
    ["has the machine's secrets taken out of what it says", "m1", "its password is [redacted], said the BMC"],
    ["of a machine whose secrets cannot be read has its output withheld", "gone", WITHHELD],
  ])("%s", async (_, machine, said) => {
    const lines: string[] = [];
    const runtime = idleRuntime({
      adopt: async ({ startedAt, ...left }) => {
        const output = new LogStream(outputOptions(left));
        output.write("stdout", Buffer.from(`its password is ${canary}, said the BMC\n`));
        output.end();
        const message = `its password is ${canary}, said the BMC`;
        const ended = { ok: false, class: "auth", message, timedOut: false, killed: false } as const;
        const outcome = { ...ended, startedAt, stoppedAt: new Date() };
        return { kind: "ended", ended: { outcome, remove: async () => undefined } };
      },
    });
    const entry = { ...entryOf("a1", "launched"), runtime: "docker", machine };
    const observer = {
      ...noObserver,
      action: (event: ActionEvent) => {
        if (event.kind === "line") lines.push(event.line.line);
      },
    };
    const { reports, recoverDuring } = executorLab(runtime, new LeftJournal([entry]), observer);

    await recoverDuring(() => expect.poll(() => reports.length).toBe(1));

    expect(lines).toEqual([said]);
    expect(reports[0]?.message).toContain(said);
    expect(reports[0]?.message).not.toContain(canary);
  });
});

describe("an action whose journal entry is damaged", () => {
  const { action } = scriptedRequest([], { action: { image: "localhost/power-cycle:v1" } }).request;
  const key = actionKey(action);

  /** A journal with that entry, and a runtime that counts what it is asked. */
  async function damagedLab(
    adoption: Adoption | ((left: ReturnedAction) => Adoption),
    more: LabOptions = {},
  ) {
    const files = await journalLab();
    await writeFile(join(files.directory, `${key}.json`), '{"version": 2, "key": ');
    const journal = await files.open();
    const adopted: ReturnedAction[] = [];
    const run = vi.fn<Runtime["run"]>(async () => ({
      outcome: { ok: true, message: "ran", ...NOW_ENDED, timedOut: false, killed: false },
      remove: async () => undefined,
    }));
    const needs: unknown[] = [];
    const runtime = idleRuntime({
      run,
      adopt: async (left) => {
        adopted.push(left);
        return typeof adoption === "function" ? adoption(left) : adoption;
      },
      sweep: async (keep) => {
        needs.push(keep(key), keep("another"));
        return 0;
      },
    });
    return { ...executorLab(runtime, journal, noObserver, more), ...files, journal, adopted, run, needs };
  }

  it("is adopted by its key, with what the server sends, and never run", async () => {
    const outcome = { ok: true, message: "cycled", ...NOW_ENDED, timedOut: false, killed: false };
    const given = await damagedLab({
      kind: "ended",
      ended: { outcome, remove: async () => undefined },
    });

    const first = await given.executor.execute(action, given.signals);
    const second = await given.executor.execute(action, given.signals);

    expect(first).toMatchObject({ ok: true, message: "cycled" });
    expect(second).toBeUndefined();
    expect(given.run).not.toHaveBeenCalled();
    expect(given.adopted).toEqual([
      expect.objectContaining({ damaged: true, connected: true, timeoutMs: 60_000 }),
    ]);
    expect(given.adopted[0]?.action).toMatchObject({ actionId: action.actionId, image: action.image });
    expect(given.adopted[0]?.handle).toBeUndefined();
    expect(given.reports[0]).toMatchObject({ state: "success", message: "cycled" });
    expect(given.journal.damageOf(key)).toBeUndefined();
    expect(given.journal.find(key)).toMatchObject({ phase: "acknowledged" });
  });

  it("fails with the reason if it is gone and not idempotent", async () => {
    const given = await damagedLab({ kind: "lost", reason: "its container is gone", idempotent: false });

    const outcome = await given.executor.execute(action, given.signals);
    await given.executor.execute(action, given.signals);

    expect(outcome).toMatchObject({
      ok: false,
      class: "internal",
      message:
        "the action's journal entry is not JSON; its container is gone; " +
        "it may have been carried out and is not idempotent, so it is not run again",
    });
    expect(given.run).not.toHaveBeenCalled();
    expect(given.adopted).toHaveLength(1);
    expect(given.reports[0]).toMatchObject({ state: "failed" });
  });

  it.each([
    ["gone and idempotent", { kind: "lost", reason: "its container is gone", idempotent: true }],
    ["certainly not launched", { kind: "not-launched" }],
  ] as const)("runs when the server serves it again where it is %s", async (_, adoption) => {
    const given = await damagedLab(adoption);

    const first = await given.executor.execute(action, given.signals);
    const damage = given.journal.damageOf(key);
    const second = await given.executor.execute(action, given.signals);

    expect(first).toBeUndefined();
    expect(damage).toBeUndefined();
    expect(second).toMatchObject({ ok: true, message: "ran" });
    expect(given.run).toHaveBeenCalledOnce();
  });

  it("is not run while its adoption fails", async () => {
    let fails = true;
    const given = await damagedLab(() => {
      if (fails) throw new Error("the engine is away");
      return { kind: "lost", reason: "its container is gone", idempotent: false };
    });

    const first = await given.executor.execute(action, given.signals);
    const damage = given.journal.damageOf(key);
    fails = false;
    const second = await given.executor.execute(action, given.signals);

    expect(first).toBeUndefined();
    expect(damage).toBe("is not JSON");
    expect(second).toMatchObject({ ok: false });
    expect(given.run).not.toHaveBeenCalled();
  });

  it("is adopted although the policy denies it now, and its output is withheld", async () => {
    const message = `its password is ${canary}`;
    const outcome = { ok: false, message, ...NOW_ENDED, timedOut: false, killed: false };
    const given = await damagedLab(
      { kind: "ended", ended: { outcome, remove: async () => undefined } },
      { locate: () => ({ ok: false, reason: "no longer allowed" }) },
    );

    await given.executor.execute(action, given.signals);

    expect(given.adopted).toHaveLength(1);
    expect(given.reports[0]?.message).toContain(WITHHELD);
    expect(given.reports[0]?.message).not.toContain(canary);
  });

  it("is kept by the sweep until it is long overdue", async () => {
    const given = await damagedLab({ kind: "not-launched" });

    await given.recoverDuring(() => expect.poll(() => given.needs).toEqual(["until-overdue", false]));

    expect(given.adopted).toEqual([]);
  });
});

it("what was launched for an action is needed as long as its entry says so, although nothing of it is in flight", async () => {
  let keep: Parameters<Runtime["sweep"]>[0] = () => "until-overdue";
  const sweep: Runtime["sweep"] = async (needed) => {
    keep = needed;
    return 0;
  };
  const journal = new MemoryJournal();
  const { executor, signals, stop } = executorLab({ ...briefRuntime(), sweep }, journal);
  const recovered = executor.recover(signals);

  const needs: unknown[] = [keep("none")];
  for (const phase of ["launching", "launched", "ended", "rejected", "acknowledged", "dropped"] as const) {
    const entry = entryOf(phase, phase);
    await journal.write(entry);
    needs.push(keep(entry.key));
  }
  stop.abort();
  await recovered;

  expect(needs).toEqual([false, true, true, "until-overdue", "until-overdue", "settled", "settled"]);
});

it.each([
  ["is denied", { ok: false, reason: "no" }, ["running", "failed"], "ended"],
  ["has another BMC", { ok: true, machine: "m1", lockKey: "other.example" }, [], "returned"],
] as const)("an action that %s after it waited for its turn is not run", async (_, later, states, end) => {
  const run = vi.fn(briefRuntime().run);
  const targets: LabTarget[] = [{ ok: true, machine: "m1", lockKey: "bmc.example" }];
  const locate = () => targets.shift() ?? later;
  const seen: string[] = [];
  const observer = { ...noObserver, action: ({ kind }: ActionEvent) => void seen.push(kind) };
  const runtime = { ...briefRuntime(), run };
  const { executor, reports, signals } = executorLab(runtime, new MemoryJournal(), observer, { locate });

  await executor.execute(scriptedRequest(["host"]).request.action, signals);

  expect(run).not.toHaveBeenCalled();
  expect(reports.map(({ state }) => state)).toEqual(states);
  expect(seen).toContain(end);
});

it("a new run with the ID of an ended one is needed while its hook runs", async () => {
  const base = entryOf("a1", "ended");
  const { idMayReturn: _, ...identity } = base.action;
  const action: Action = {
    ...{ ...identity, timeoutMs: 60_000, command: [], volumes: [], environment: {} },
    ...{ returningIds: TO_BEGIN, onFailure: ["--tidy-up"] },
  };
  const entry = { ...base, runtime: "docker", action: { ...base.action, idMayReturn: true } } as const;
  class OldJournal extends LeftJournal {
    override ageMs(): number {
      return 60_000;
    }
  }
  const journal = new OldJournal([entry]);
  await journal.write(entry);
  let keep: (key: string) => unknown = () => undefined;
  const needed: unknown[] = [];
  const runtime = idleRuntime({
    run: async ({ action: { command } }) => {
      if (command.length > 0) needed.push(keep(entry.key));
      const failed = { ok: false, message: "failed", exitCode: 1, timedOut: false, killed: false };
      return { outcome: { ...failed, ...NOW_ENDED }, remove: async () => undefined };
    },
    sweep: async (isNeeded) => {
      keep = isNeeded;
      return 0;
    },
  });
  const { executor, reports, stop, signals } = executorLab(runtime, journal);

  const recovered = executor.recover(signals);
  const during = keep(entry.key);
  await expect.poll(() => journal.find(entry.key)?.phase).toBe("acknowledged");
  await expect.poll(() => reports.length).toBe(1);
  await executor.execute(action, signals);
  stop.abort();
  await recovered;

  expect(during).toBe("once-ended");
  expect(needed).toEqual([true]);
});

/** What the server serves of the action of an entry. */
function servedAgain({ action: { idMayReturn: _, ...identity } }: JournalEntry): Action {
  return { ...identity, timeoutMs: 60_000, command: [], volumes: [], environment: {} };
}

it("an action that an earlier worker launched is adopted when the server serves it, and not run", async () => {
  const entry = { ...entryOf("a1", "launched"), runtime: "docker" };
  const journal = new MemoryJournal();
  await journal.write(entry);
  const outcome = { ok: true, message: "cycled", ...NOW_ENDED, timedOut: false, killed: false };
  const runtime = idleRuntime({
    adopt: async () => ({ kind: "ended", ended: { outcome, remove: async () => undefined } }),
  });
  const { executor, reports, signals } = executorLab(runtime, journal);

  expect(await executor.execute(servedAgain(entry), signals)).toMatchObject({ ok: true, message: "cycled" });
  expect(reports.map(({ state, message }) => [state, message])).toEqual([["success", "cycled"]]);
});

it.each(["acknowledged", "dropped"] as const)(
  "an action that the server serves after its end was %s is not run, and its end is reported",
  async (phase) => {
    const entry = entryOf("a1", phase);
    const journal = new MemoryJournal();
    await journal.write(entry);
    const { executor, reports, signals } = executorLab(briefRuntime(), journal);

    expect(await executor.execute(servedAgain(entry), signals)).toBe(undefined);

    expect(reports.map(({ state, message }) => [state, message])).toEqual([["success", "off"]]);
    const remembered = journal.find(entry.key);
    expect(remembered).toMatchObject({ phase: "acknowledged" });
    expect(remembered).not.toEqual(entry);
  },
);

it("a rejected end is kept with what was launched, and its action is answered from the journal, also by the next worker", async () => {
  const journal = new FullJournal();
  const remove = vi.fn(async () => undefined);
  let answer: Acknowledgement = { kind: "rejected", code: "PermissionDenied", reason: "HTTP 403" };
  const reports: string[] = [];
  const source = {
    async report({ state }: ActionStatus): Promise<Acknowledgement> {
      reports.push(state);
      return state === "running" ? { kind: "acknowledged" } : answer;
    },
  };
  const run = vi.fn(briefRuntime({ remove }).run);
  const deliveries: string[] = [];
  const action = (event: ActionEvent) => void (event.kind === "reported" && deliveries.push(event.delivery));
  const life = () =>
    executorLab({ ...briefRuntime({ remove }), run }, journal, { ...noObserver, action }, { source });
  const served = scriptedRequest(["host"]).request.action;

  const first = life();
  await first.executor.execute(served, first.signals);
  await first.executor.execute(served, first.signals);
  await first.executor.reported();
  const kept = { phase: journal.find(actionKey(served))?.phase, removed: remove.mock.calls.length };
  answer = { kind: "acknowledged" };
  const next = life();
  await next.recoverDuring(() => next.executor.execute(served, next.signals));

  expect(kept).toEqual({ phase: "rejected", removed: 0 });
  expect(run).toHaveBeenCalledTimes(1);
  expect(reports).toEqual(["running", "success", "success", "success"]);
  expect(deliveries).toEqual(["rejected", "unanswered", "acknowledged"]);
  expect(journal.find(actionKey(served))?.phase).toBe("acknowledged");
});

it("every lock is acquired for its action, so that replicas know which one they wait for", async () => {
  const acquired: string[] = [];
  const locks = {
    acquire: async (key: string, _signal: AbortSignal, purpose?: LockOwner) => {
      acquired.push(`${key} for ${purpose?.actionKey}`);
      return () => undefined;
    },
  };
  const [launched, ended] = [entryOf("a1", "launched"), entryOf("a2", "ended")];
  const adopting: Runtime = { ...briefRuntime(), adopt: async () => ({ kind: "not-launched" }) };
  const journal = new LeftJournal([launched, ended]);
  const { executor, signals, recoverDuring } = executorLab(adopting, journal, noObserver, { locks });
  const { action } = scriptedRequest(["host"]).request;

  await recoverDuring(() => executor.execute(action, signals));

  const expected = [launched, ended].flatMap(({ key }) => [
    `machine node-01 for ${key}`,
    `bmc 192.0.2.1 for ${key}`,
  ]);
  expected.push(`machine m1 for ${actionKey(action)}`, `bmc bmc.example for ${actionKey(action)}`);
  expect(acquired.toSorted()).toEqual(expected.toSorted());
});
