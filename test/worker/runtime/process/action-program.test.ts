import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { catalogue } from "../../../../actions/catalogue.ts";
import { ActionPrograms } from "../../../../worker/runtime/process/action-program.ts";

const sources = join(import.meta.dirname, "../../../../actions");
let bundles: string;

beforeEach(async () => {
  bundles = await mkdtemp(join(tmpdir(), "pbnj-programs-"));
});
afterEach(async () => {
  await rm(bundles, { recursive: true, force: true });
});

describe("the programs of a folder of actions", () => {
  it("finds this project's own actions in its sources", async () => {
    const programs = new ActionPrograms(sources);

    expect(await programs.names()).toEqual([...catalogue].sort());
    expect(await programs.find("power-off")).toEqual({
      file: join(sources, "main.ts"),
      leadingArguments: ["power-off"],
    });
  });

  it("finds bundles, and nothing else that lies beside them", async () => {
    for (const file of ["power-off.mjs", "power-on.mjs", "THIRD-PARTY-LICENSES"]) {
      await writeFile(join(bundles, file), "");
    }
    const programs = new ActionPrograms(bundles);

    expect(await programs.names()).toEqual(["power-off", "power-on"]);
    expect(await programs.find("power-off")).toEqual({
      file: join(bundles, "power-off.mjs"),
      leadingArguments: [],
    });
  });

  it.each(["harness", "main", "nonsense", "..", "constructor"])("has no program for %s", async (name) => {
    expect(await new ActionPrograms(sources).find(name)).toBeUndefined();
  });
});
