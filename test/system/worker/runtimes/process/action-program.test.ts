import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { catalogue } from "../../../../../actions/catalogue.ts";
import { actionFolder, ownActions } from "../../../../../worker/runtimes/process/action-program.ts";

const sources = join(import.meta.dirname, "../../../../../actions");
let bundles: string;

beforeEach(async () => {
  bundles = await mkdtemp(join(tmpdir(), "pbnj-programs-"));
});
afterEach(async () => {
  await rm(bundles, { recursive: true, force: true });
});

describe("the programs of a folder of actions", () => {
  it("finds this project's own actions in its sources", async () => {
    const programs = actionFolder(sources);

    expect(await programs.names()).toEqual([...catalogue].sort());
    expect(await programs.find("power-off")).toMatchObject({
      file: join(sources, "main.ts"),
      leadingArguments: ["power-off"],
    });
  });

  it("finds bundles, and no other files", async () => {
    for (const file of ["power-off/action.mjs", "power-on/action.mjs", "other/part.mjs"]) {
      await mkdir(join(bundles, dirname(file)));
      await writeFile(join(bundles, file), "");
    }
    await writeFile(join(bundles, "THIRD-PARTY-LICENSES"), "");
    const programs = actionFolder(bundles);

    expect(await programs.names()).toEqual(["power-off", "power-on"]);
    expect(await programs.find("power-off")).toMatchObject({
      file: join(bundles, "power-off", "action.mjs"),
      leadingArguments: [],
    });
  });

  it.each(["harness", "main", "nonsense", "..", "constructor"])("has no program for %s", async (name) => {
    expect(await actionFolder(sources).find(name)).toBeUndefined();
  });
});

describe("the actions of the program itself", () => {
  const programs = ownActions("/opt/pbnj-worker.mjs", {
    names: () => ["power-on", "power-off"],
    inputNames: () => [],
    idempotentNames: () => [],
    find: async (name) => ({
      idempotent: name === "power-on",
      problems: async () => [],
      run: () => Promise.reject(new Error("not run")),
    }),
  });

  it("are run by the same program, under their names", async () => {
    expect(await programs.names()).toEqual(["power-off", "power-on"]);
    expect(await programs.find("power-off")).toMatchObject({
      file: "/opt/pbnj-worker.mjs",
      leadingArguments: ["action", "power-off"],
    });
  });

  it.each(["", "action", "power", "--help", "constructor"])("have no program for %j", async (name) => {
    expect(await programs.find(name)).toBeUndefined();
  });
});
