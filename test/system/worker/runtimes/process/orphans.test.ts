import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { actionKey } from "../../../../../worker/core/action/action.ts";
import {
  type LaunchHandle,
  LaunchNotRecorded,
  type LaunchRequest,
} from "../../../../../worker/core/ports/runtime.ts";
import { actionFolder } from "../../../../../worker/runtimes/process/action-program.ts";
import {
  type ProcessState,
  resultFileOf,
} from "../../../../../worker/runtimes/process/orphaned-processes.ts";
import { ProcessRuntime } from "../../../../../worker/runtimes/process/process-runtime.ts";
import { LABEL_VARIABLE } from "../../../../../worker/runtimes/process/process-spec.ts";
import { isRunning, processHandle, startByPs } from "../../../../../worker/runtimes/process/process-table.ts";
import { fileFolder } from "../../../../support/test-folder.ts";
import { resultStep, scriptedRequest } from "../../../../worker/runtimes/launch-request.ts";

const programs = actionFolder(join(import.meta.dirname, "../../../../support/fixtures/actions"));
const never = new AbortController().signal;
/** No process here is an hour past its deadline: the worker of any test that starts meanwhile would end it. */
const HALF_HOUR_MS = 30 * 60_000;

const { folder: root } = await fileFolder();
const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It is gone, as the test wanted.
    }
  }
});

async function newState(): Promise<ProcessState> {
  return { id: randomUUID(), results: await mkdtemp(join(root, "results-")) };
}

function newRuntime(state?: ProcessState): ProcessRuntime {
  return new ProcessRuntime({ programs, stopGraceMs: 500, ...(state ? { state } : {}) });
}

/** A process in a group of its own, as a worker that is gone left it; resolves when it runs. */
async function left(
  mark: { readonly state?: string; readonly key: string; readonly deadline: Date },
  program = "setInterval(() => undefined, 1000);",
): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn(process.execPath, ["-e", `${program} console.log("up")`], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      PATH: process.env["PATH"],
      ...(mark.state === undefined ? {} : { [LABEL_VARIABLE.state]: mark.state }),
      [LABEL_VARIABLE.key]: mark.key,
      [LABEL_VARIABLE.deadline]: mark.deadline.toISOString(),
    },
  });
  started.push(child);
  if (!child.stdout || child.pid === undefined) throw new Error("no process was started");
  await once(child.stdout, "data");
  return Object.assign(child, { pid: child.pid });
}

function ended(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

const keepNone = () => false;

describe("sweeping processes", () => {
  it("ends what this state directory launched and no worker needs, and nothing else", async () => {
    const [mine, other] = [await newState(), await newState()];
    const recently = new Date(Date.now() - HALF_HOUR_MS);
    const swept = [
      await left({ state: mine.id, key: "dropped", deadline: new Date(Date.now() + HALF_HOUR_MS) }),
      await left({ state: mine.id, key: "dropped-too", deadline: recently }),
    ];
    const spared = [
      await left({ state: mine.id, key: "kept", deadline: recently }),
      await left({ state: other.id, key: "of-another-worker", deadline: recently }),
      await left({ key: "of-a-run", deadline: recently }),
    ];

    const count = await newRuntime(mine).sweep((key) => key === "kept");

    expect(count).toBe(2);
    await expect.poll(() => swept.map(ended)).toEqual([true, true]);
    expect(spared.map(ended)).toEqual([false, false, false]);
  });

  it("lets a process clean up, kills one that ignores SIGTERM, and ends its whole group", async () => {
    const mine = await newState();
    const deadline = new Date();
    const cleaning = await left(
      { state: mine.id, key: "cleaning", deadline },
      'process.on("SIGTERM", () => process.exit(7)); setInterval(() => undefined, 1000);',
    );
    const deaf = await left(
      { state: mine.id, key: "deaf", deadline },
      `process.on("SIGTERM", () => undefined);
       require("node:child_process").spawn("sleep", ["60"], { env: { PATH: process.env.PATH }, stdio: "ignore" });
       setInterval(() => undefined, 1000);`,
    );

    await newRuntime(mine).sweep(keepNone);

    await expect.poll(() => [cleaning, deaf].map(ended)).toEqual([true, true]);
    expect(cleaning.exitCode).toBe(7);
    expect(deaf.signalCode).toBe("SIGKILL");
    // The sleeping one has no label, and was in the group.
    expect(() => process.kill(-deaf.pid, 0)).toThrow(/ESRCH/);
  });

  it("removes unneeded results, and keeps those that are being written", async () => {
    const mine = await newState();
    for (const name of ["kept.json", "kept.json.part", "dropped.json", "dropped.json.part"]) {
      await writeFile(join(mine.results, name), "{}");
    }

    await newRuntime(mine).sweep((key) => key === "kept");

    expect((await readdir(mine.results)).toSorted()).toEqual(["kept.json", "kept.json.part"]);
  });

  it("never ends what a live worker runs, this one or another", async () => {
    const [mine, other] = [await newState(), await newState()];
    const [one, two] = [newRuntime(mine), newRuntime(other)];
    const up = Promise.withResolvers<void>();
    const controller = new AbortController();
    const { request } = scriptedRequest(["out:up\\n", "sleep:60000"], { timeoutMs: 60_000 });
    const running = one.run({ ...request, onLog: () => up.resolve() }, controller.signal);
    await up.promise;

    const counts = [await one.sweep(keepNone), await two.sweep(keepNone), await newRuntime().sweep(keepNone)];
    controller.abort();
    const { outcome } = await running;
    await one.close();
    await two.close();

    expect(counts).toEqual([0, 0, 0]);
    expect(outcome.class).toBe("cancelled");
  });
});

describe("adopting processes", () => {
  function leftAction({ action, timeoutMs, onLog }: LaunchRequest, handle?: LaunchHandle, connected = false) {
    return {
      action,
      startedAt: new Date(),
      clockSetMs: 0,
      timeoutMs,
      onLog,
      connected,
      ...(handle ? { handle } : {}),
    };
  }

  it("gives one its whole time although the wall clock was set forward beyond its end meanwhile", async () => {
    const mine = await newState();
    const { request } = scriptedRequest([], { timeoutMs: 60_000 });
    const key = actionKey(request.action);
    const result = resultStep({ message: "off after 6.2 s" }).slice("result:".length);
    const program = `setTimeout(() => require("node:fs").writeFileSync(${JSON.stringify(resultFileOf(mine, key))},
      ${JSON.stringify(`${result}\n`)}), 300);`;
    await left({ state: mine.id, key, deadline: new Date(Date.now() - HALF_HOUR_MS) }, program);
    const long = { startedAt: new Date(Date.now() - 2 * HALF_HOUR_MS), clockSetMs: 2 * HALF_HOUR_MS };

    const adoption = await newRuntime(mine).adopt({ ...leftAction(request), ...long }, never);

    expect(adoption).toMatchObject({ kind: "ended", ended: { outcome: { ok: true, timedOut: false } } });
  });

  it("finds by its label one that brings its own connection and whose launch is not recorded", async () => {
    const mine = await newState();
    const { request } = scriptedRequest([]);
    const key = actionKey(request.action);
    const result = resultStep({ message: "off after 6.2 s" }).slice("result:".length);
    const program = `setTimeout(() => require("node:fs").writeFileSync(${JSON.stringify(resultFileOf(mine, key))},
      ${JSON.stringify(`${result}\n`)}), 300);`;
    const child = await left({ state: mine.id, key, deadline: new Date(Date.now() + HALF_HOUR_MS) }, program);

    const handle = await processHandle(child.pid);
    const adoption = await newRuntime(mine).adopt(leftAction(request), never);

    expect(await isRunning(handle)).toBe(false);
    expect(adoption).toMatchObject({
      kind: "ended",
      ended: { outcome: { ok: true, message: "off after 6.2 s" } },
    });
  });

  it("finds by its label one whose journal entry is damaged, with or without a connection", async () => {
    for (const connected of [true, false]) {
      const mine = await newState();
      const { request } = scriptedRequest([]);
      const key = actionKey(request.action);
      const result = resultStep({ message: "off after 6.2 s" }).slice("result:".length);
      const program = `setTimeout(() => require("node:fs").writeFileSync(${JSON.stringify(resultFileOf(mine, key))},
        ${JSON.stringify(`${result}\n`)}), 300);`;
      const child = await left(
        { state: mine.id, key, deadline: new Date(Date.now() + HALF_HOUR_MS) },
        program,
      );
      const damaged = { ...leftAction(request, undefined, connected), damaged: true } as const;

      const handle = await processHandle(child.pid);
      const adoption = await newRuntime(mine).adopt(damaged, never);

      expect(await isRunning(handle)).toBe(false);
      expect(adoption).toMatchObject({
        kind: "ended",
        ended: { outcome: { ok: true, message: "off after 6.2 s" } },
      });
    }
  });

  it("counts one as lost whose journal entry is damaged and that is gone without a result", async () => {
    const mine = await newState();
    const { request } = scriptedRequest([]);
    const damaged = { ...leftAction(request, undefined, true), damaged: true } as const;

    const adoption = await newRuntime(mine).adopt(damaged, never);

    expect(adoption).toMatchObject({ kind: "lost", idempotent: false });
  });

  it("waits for no pipe in place of a result", async () => {
    const mine = await newState();
    const { request } = scriptedRequest([]);
    execFileSync("mkfifo", [resultFileOf(mine, actionKey(request.action))]);

    const adoption = await newRuntime(mine).adopt(leftAction(request), never);

    expect(adoption).toMatchObject({ kind: "lost" });
  });

  it("ends one that waited for its connection, and counts it as not launched", async () => {
    const mine = await newState();
    const { request } = scriptedRequest([]);
    const key = actionKey(request.action);
    const child = await left({ state: mine.id, key, deadline: new Date(Date.now() + HALF_HOUR_MS) });
    await writeFile(resultFileOf(mine, key), "{}");

    const adoption = await newRuntime(mine).adopt(leftAction(request, undefined, true), never);

    expect(adoption).toEqual({ kind: "not-launched" });
    await expect.poll(() => ended(child)).toBe(true);
    expect(await readdir(mine.results)).toEqual([]);
  });

  it("counts one with truncated input as not launched, and removes its result", async () => {
    const mine = await newState();
    const { request } = scriptedRequest([]);
    const usage = resultStep({ ok: false, class: "usage", message: "no connection", roundTrips: 0 });
    await writeFile(resultFileOf(mine, actionKey(request.action)), usage.slice("result:".length));
    const handle = { pid: 2 ** 22, start: 1, boot: "another" };

    const adoption = await newRuntime(mine).adopt(leftAction(request, handle, true), never);

    expect(adoption).toEqual({ kind: "not-launched" });
    expect(await readdir(mine.results)).toEqual([]);
  });

  it("does not use another run's result", async () => {
    const mine = await newState();
    const runtime = newRuntime(mine);
    const { request } = scriptedRequest(["exit:1"]);
    await writeFile(resultFileOf(mine, actionKey(request.action)), resultStep({}).slice("result:".length));

    await runtime.run(request, never);
    const adoption = await runtime.adopt(leftAction(request, { pid: 1, start: null, boot: null }), never);
    await runtime.close();

    expect(adoption).toMatchObject({ kind: "lost", idempotent: false });
  });

  it("passes nothing to an action whose launch cannot be recorded, and leaves nothing of it", async () => {
    const mine = await newState();
    const runtime = newRuntime(mine);
    const { request, lines } = scriptedRequest(["host", "sleep:60000"], { connected: true });
    let handle: LaunchHandle | undefined;

    const running = runtime.run(
      {
        ...request,
        onLaunch: async (given) => {
          handle = given;
          throw new LaunchNotRecorded(new Error("ENOSPC: no space left on device"));
        },
      },
      never,
    );

    await expect(running).rejects.toThrow(
      new LaunchNotRecorded(new Error("ENOSPC: no space left on device")),
    );
    await runtime.close();
    expect(handle && (await isRunning(handle))).toBe(false);
    expect(lines).toEqual([]);
  });
});

describe("a process's handle", () => {
  it("identifies that process, not a later one with the same ID, and not after a reboot", async () => {
    const child = await left({ key: "k", deadline: new Date() });
    const handle = await processHandle(child.pid);

    expect(await isRunning(handle)).toBe(true);
    expect(await isRunning({ ...handle, start: Number(handle["start"]) + 1 })).toBe(false);
    expect(await isRunning({ ...handle, boot: "another" })).toBe(false);
    child.kill("SIGKILL");
    await once(child, "close");
    expect(await isRunning(handle)).toBe(false);
  });

  it("of a process that ended before it was read identifies none", async () => {
    const child = await left({ key: "k", deadline: new Date() });
    child.kill("SIGKILL");
    await once(child, "close");

    const handle = await processHandle(child.pid);

    expect(handle["start"]).toBeNull();
    expect(await isRunning({ ...handle, pid: process.pid })).toBe(false);
  });

  it("reads the start of a process with ps, too, for systems without /proc", async () => {
    const [one, again] = [await startByPs(process.pid), await startByPs(process.pid)];

    expect(one).toMatch(/\d\d:\d\d:\d\d/);
    expect(again).toBe(one);
    expect(await startByPs(2 ** 22)).toBeUndefined();
  });
});
