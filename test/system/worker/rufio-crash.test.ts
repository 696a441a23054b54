import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { eventually, isTrue, type RufioLab, rufioLab } from "../../worker/features/rufio/rufio-lab.ts";

const PROGRAM = join(import.meta.dirname, "rufio-replica-program.ts");
const KILLER = join(import.meta.dirname, "../../support/kill-at-step.ts");
const RUN_MS = 240_000;
/** A process that loads a worker from its sources, beside others. */
const START_MS = 60_000;

it.each([
  ["v1alpha1", "after launched"],
  ["v1alpha2", "after launched"],
  // Nothing was launched, which the journal says.
  ["v1alpha1", "before launched"],
  ["v1alpha2", "before launched"],
] as const)(
  "does the cycle of a Job of %s once although the worker is killed %s",
  {
    timeout: RUN_MS,
  },
  async (api, at) => {
    await using lab = await rufioLab({ cluster: { crds: [api] } });
    const flags = { rufioApi: api };
    const options = { ...(await lab.replicaOptions()), flags, runtime: "process" as const };
    const marks = join(lab.folder, "marks");
    await mkdir(marks);
    if (api === "v1alpha1") {
      lab.addMachine();
      lab.addJob("j1", [{ powerAction: "cycle" }]);
    } else {
      lab.addHardware();
      lab.addNewJob("j1", [{ powerAction: "cycle" }]);
    }
    const job = () => (api === "v1alpha1" ? lab.job("j1") : lab.newJob("j1"));

    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const killer = { NODE_OPTIONS: `--import=${KILLER}`, KILL_AT: at, KILL_MARKS: marks };
    // With the cache it need not strip the types of every file.
    const env = { PATH, NODE_COMPILE_CACHE, ...killer };
    const first = await execa(process.execPath, [PROGRAM, JSON.stringify(options)], {
      ...{ env, extendEnv: false, reject: false, stdin: "ignore", stdout: "ignore", timeout: RUN_MS },
    });
    expect(first.signal, first.stderr).toBe("SIGKILL");
    await lab.replica(options);
    await eventually(() => expect(isTrue(job(), "Completed"), said(lab)).toBe(true), START_MS);

    expect(lab.machine().commands.map(({ action }) => action)).toEqual(["cycle"]);
  },
);

function said({ logged }: RufioLab): string {
  return logged.map((line) => JSON.stringify(line)).join("\n");
}
