import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { SimulatedMachineOptions } from "../../../simulators/machine.ts";
import { isOver, type Workflow } from "../../../simulators/tink/workflow.ts";
import { actionEntries } from "../../../worker/core/action/action-journal.ts";
import type { JournalEntry } from "../../../worker/core/action/entry.ts";
import { decodeEntry } from "../../../worker/core/journal/entry-text.ts";
import { LABEL_VARIABLE } from "../../../worker/runtimes/process/process-spec.ts";
import { processesWith } from "../../../worker/runtimes/process/process-table.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { type LabOptions, openLab, type Step } from "../../support/lab.ts";
import type { StartedProgram } from "../../support/program-log.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

const KILLER = join(import.meta.dirname, "../../support/kill-at-step.ts");
const OVER_WITHIN_MS = 180_000;

/** The last one is the one that must not be repeated: it is not idempotent. */
export const steps: readonly Step[] = [
  { name: "power-off", environment: { MODE: "hard" } },
  { name: "set-pxe-once" },
  { name: "power-on" },
  { name: "power-cycle" },
];

interface CrashLabOptions extends Pick<LabOptions, "argv" | "entry"> {
  readonly machine?: SimulatedMachineOptions;
  readonly registry?: string;
}

/** A lab whose workers are started and killed on one state directory. */
export async function crashLab({ machine = {}, registry, argv = [], entry = {} }: CrashLabOptions = {}) {
  const base = await openLab({
    machines: { "node-01": machine },
    entry,
    argv: ["--log-level", "debug", ...argv],
  });
  const marks = base.path("marks");
  await mkdir(marks);
  const state = base.path("state");

  const lab = {
    ...base,
    machine: base.machine(),
    bmc: base.bmc(),
    state,

    submit(wanted: readonly Step[], name?: string): Workflow {
      const imaged = wanted.map((step) => ({
        ...(registry && { image: `${registry}/${step.name}:test` }),
        ...step,
      }));
      return base.submitAs({ ...(name && { name }) }, "pbnj-node-01", ...imaged);
    },

    /** Starts a worker that can be killed on the state directory, by itself or `by` another program. */
    startProcess: (env: Readonly<Record<string, string>> = {}, by: readonly string[] = []) =>
      base.own(new WorkerProgram(base.argv(), env, by)),

    /** Starts a worker inside this process. */
    start: (env: Readonly<Record<string, string>> = {}) => base.own(new CommandInProcess(base.argv(), env)),

    /** One that kills itself at these points of the journal, once each: see support/kill-at-step.ts. */
    startToDie(...points: readonly string[]): WorkerProgram {
      return lab.startProcess({
        NODE_OPTIONS: `--import=${KILLER}`,
        KILL_AT: points.join(","),
        KILL_MARKS: marks,
      });
    },

    /**
     * Starts workers one after the other, as a service manager would, until the workflow has ended and `deaths` of them
     * were killed; resolves to the one that lives.
     */
    async keepRunning(
      workflow: Workflow,
      deaths: number,
      start: () => WorkerProgram,
    ): Promise<WorkerProgram> {
      const giveUpAt = performance.now() + OVER_WITHIN_MS;
      let worker = start();
      for (let died = 0; died < deaths || !isOver(workflow); ) {
        const pause = new Promise<undefined>((resolve) => setTimeout(resolve, 20, undefined));
        const end = await Promise.race([worker.ended, pause]);
        if (end !== undefined) {
          expect(end, worker.stderr).toEqual({ code: null, signal: "SIGKILL" });
          died += 1;
          worker = start();
        }
        const failed = isOver(workflow) && workflow.state !== "SUCCESS";
        if (failed || performance.now() > giveUpAt) {
          throw new Error(`the workflow is ${workflow.state} after ${died} deaths:\n${worker.stderr}`);
        }
      }
      return worker;
    },

    /** The entries of the journal, with what is no entry by its name alone. */
    async journal(): Promise<readonly (JournalEntry | string)[]> {
      const directory = join(state, "journal");
      const names = (await readdir(directory)).filter((name) => name !== "set-aside");
      return Promise.all(
        names.map(async (name) => {
          if (!name.endsWith(".json")) return name;
          const decoded = decodeEntry(await readFile(join(directory, name), "utf8"), actionEntries);
          return decoded.ok ? decoded.entry : `${name} ${decoded.problem}`;
        }),
      );
    },

    results: (): Promise<readonly string[]> => readdir(join(state, "results")),

    async stateId(): Promise<string> {
      return JSON.parse(await readFile(join(state, "state.json"), "utf8")).id;
    },

    /** The processes launched from this state directory that still run. */
    async processes(): Promise<readonly number[]> {
      const marked = await processesWith(LABEL_VARIABLE.key);
      const id = await lab.stateId();
      return marked
        .filter(({ environment }) => environment[LABEL_VARIABLE.state] === id)
        .map(({ pid }) => pid);
    },

    /** Asserts that nothing is left but what is remembered, and that the worker stops as it should. */
    async expectNothingLeft(worker: StartedProgram): Promise<void> {
      await worker.untilLogged("worker started");
      await eventuallyEmpty(lab.results);
      await eventuallyEmpty(lab.processes);
      worker.kill("SIGTERM");
      expect(await worker.ended, worker.stderr).toEqual({ code: 0, signal: null });
      const left = (await lab.journal()).filter(
        (entry) => typeof entry === "string" || entry.phase !== "acknowledged",
      );
      expect(left).toEqual([]);
    },
  };
  return lab;
}

/** Like `expect.poll`, which tests that run beside each other cannot use. */
export async function eventuallyEmpty(look: () => Promise<readonly unknown[]>): Promise<void> {
  await vi.waitFor(async () => expect(await look()).toEqual([]), { timeout: 15_000, interval: 50 });
}

export type CrashLab = Awaited<ReturnType<typeof crashLab>>;

/** Asserts that every action of the workflow was done once, and reported to the server once in effect. */
export function expectDoneOnce({ machine, server }: CrashLab, workflow: Workflow): void {
  expect(workflow.tasks[0]?.actions.map(({ state, message }) => ({ state, message }))).toEqual(
    workflow.tasks[0]?.actions.map(() => ({ state: "SUCCESS", message: expect.any(String) })),
  );
  expect(workflow.state).toBe("SUCCESS");
  expect(machine.commands.map(({ action }) => action)).toEqual(["off", "on", "cycle"]);
  expect(machine.boots.map(({ device }) => device)).toEqual(["pxe", "disk"]);
  for (const { id } of workflow.tasks[0]?.actions ?? []) {
    const reports = server.reports.filter(({ actionId }) => actionId === id);
    const end = reports.findIndex(({ state }) => state !== "RUNNING");
    const ends = reports.slice(end).map(({ state, message }) => ({ state, message }));
    expect(new Set(ends.map((each) => JSON.stringify(each))).size).toBe(1);
  }
}
