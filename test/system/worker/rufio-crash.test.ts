import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { eventually, isTrue, type RufioLab, rufioLab } from "../../worker/features/rufio/rufio-lab.ts";

const PROGRAM = join(import.meta.dirname, "rufio-replica-program.ts");
const KILLER = join(import.meta.dirname, "../../support/kill-at-step.ts");
const RUN_MS = 240_000;
/** A process that loads a worker from its sources, beside others. */
const START_MS = 60_000;

interface Replica {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  stderr: string;
}

/** Replicas, one after the other on the same state. */
async function replicas(lab: RufioLab) {
  const options = { ...(await lab.replicaOptions()), runtime: "process" as const };
  const all: Replica[] = [];
  return {
    /** One inside this process. */
    start: () => lab.replica(options),

    /** One that can be killed. */
    startProcess(env: Readonly<Record<string, string>> = {}): Replica {
      const { PATH, NODE_COMPILE_CACHE } = process.env;
      const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
        // With the cache it need not strip the types of every file.
        env: { PATH, NODE_COMPILE_CACHE, ...env },
        stdio: ["ignore", "ignore", "pipe"],
      });
      const replica: Replica = { child, ended: once(child, "close"), stderr: "" };
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        replica.stderr += text;
      });
      all.push(replica);
      return replica;
    },
    async [Symbol.asyncDispose]() {
      for (const { child, ended } of all) {
        if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
        await ended;
      }
    },
  };
}

it.concurrent("does the cycle of a Job once although the worker is killed after the launch", {
  timeout: RUN_MS,
}, async () => {
  await using lab = await rufioLab();
  await using runs = await replicas(lab);
  const marks = join(lab.folder, "marks");
  await mkdir(marks);
  lab.addMachine();
  lab.addJob("j1", [{ powerAction: "cycle" }]);

  const first = runs.startProcess({
    NODE_OPTIONS: `--import=${KILLER}`,
    KILL_AT: "after launched",
    KILL_MARKS: marks,
  });
  await first.ended;
  expect(first.child.signalCode, first.stderr).toBe("SIGKILL");
  await runs.start();
  await eventually(() => expect(isTrue(lab.job("j1"), "Completed"), said(lab)).toBe(true), START_MS);

  expect(lab.machine().commands.map(({ action }) => action)).toEqual(["cycle"]);
});

it.concurrent("adopts an action that continues while the worker is away", { timeout: RUN_MS }, async () => {
  await using lab = await rufioLab({ machines: { "node-01": { powerOffMs: 1_500 } } });
  await using runs = await replicas(lab);
  lab.addMachine();
  const first = runs.startProcess();
  lab.addJob("j1", [{ powerAction: "off" }, { bootDevice: { device: "pxe" } }]);
  await eventually(() => expect(lab.machine().commands, first.stderr).toHaveLength(1), START_MS);

  first.child.kill("SIGKILL");
  await first.ended;
  await runs.start();
  await eventually(() => expect(isTrue(lab.job("j1"), "Completed"), said(lab)).toBe(true), START_MS);

  expect(lab.machine().commands.map(({ action }) => action)).toEqual(["off"]);
});

function said({ logged }: RufioLab): string {
  return logged.map((line) => JSON.stringify(line)).join("\n");
}
