import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../../..");

async function contents(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  const files = names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const);
  return Object.fromEntries(await Promise.all(files));
}

describe("the generated code", () => {
  let fresh: string;

  beforeAll(async () => {
    fresh = await mkdtemp(join(tmpdir(), "pbnj-generate-"));
    await execa("node", ["scripts/generate.ts", fresh], { cwd: root, preferLocal: true });
  });

  afterAll(async () => {
    await rm(fresh, { recursive: true });
  });

  it.each(["worker/sources/tink", "worker/features/legacy"])(
    "of %s is what its definition generates",
    async (api) => {
      expect(await contents(join(fresh, api, "gen"))).toEqual(await contents(join(root, api, "gen")));
    },
  );
});
