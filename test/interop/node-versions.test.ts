import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Lab, startLab } from "../../cli/lab/lab.ts";
import { bundleProgram } from "../../scripts/bundle/bundle.ts";

/** Node of each version, from the package registry; the last one is too old. */
const VERSIONS = ["22", "24", "26"];
const TOO_OLD = "20";
const CACHE = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "pbnj-worker/interop");

/** Installed once, into the user's cache. Rejects without the registry. */
async function installNode(version: string): Promise<string> {
  const folder = join(CACHE, `node-${version}`);
  const name = `node-${process.platform}-${process.arch}`;
  const node = join(folder, "node_modules", name, "bin/node");
  if (!existsSync(node)) {
    await mkdir(CACHE, { recursive: true });
    const part = await mkdtemp(join(CACHE, "part-"));
    const options = ["--no-audit", "--no-fund", "--no-save", "--prefix", part];
    await execa("npm", ["install", ...options, `${name}@${version}`], { timeout: 300_000, stdin: "ignore" });
    await rm(folder, { recursive: true, force: true });
    await rename(part, folder);
  }
  return node;
}

const nodes = await Promise.all([...VERSIONS, TOO_OLD].map(installNode)).catch((cause: unknown) => {
  if (process.env["REQUIRE_INTEROP"] === "1") throw new Error("Node cannot be installed", { cause });
  process.stderr.write("skipped, other versions of Node cannot be installed\n");
  return [];
});

describe.skipIf(nodes.length === 0)("the published program", () => {
  let folder = "";
  let lab: Lab;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pbnj-nodes-"));
    await bundleProgram(folder, { target: "node22.19" });
    lab = await startLab({ machines: 4, times: { powerOnMs: 40, powerOffMs: 40, softOffMs: 40 } });
  });
  afterAll(async () => {
    await lab.close();
    await rm(folder, { recursive: true });
  });

  const run = (node: string | undefined, ...argv: readonly string[]) =>
    execa(node ?? "", [join(folder, "pbnj-worker.mjs"), ...argv], {
      env: { PATH: process.env["PATH"] ?? "", XDG_CACHE_HOME: folder, XDG_STATE_HOME: folder },
      extendEnv: false,
      reject: false,
      stdin: "ignore",
      timeout: 60_000,
    });

  it.each(VERSIONS.map((version, index) => [version, nodes[index]]))(
    "runs actions and templates on Node %s",
    async (_, node) => {
      const inventory = ["--inventory", lab.inventoryFile];
      const asked = await run(node, "action", "power-status", ...inventory, "--all", "--output", "text");
      const ran = await run(
        node,
        "run",
        "examples/network-boot.yaml",
        "--map",
        "machine=node-01",
        ...inventory,
      );

      expect(asked.stdout.match(/: on \(\w+, /g), asked.stderr).toHaveLength(4);
      expect(ran.stdout.match(/ success in /g), ran.stderr).toHaveLength(3);
      expect([asked.exitCode, ran.exitCode]).toEqual([0, 0]);
    },
  );

  it("names the version that it needs in one line on an older Node", async () => {
    const { exitCode, stderr } = await run(nodes.at(-1), "actions");

    expect(stderr).toMatch(/^pbnj-worker needs Node 22\.19 or later, this is v20\.\d+\.\d+$/);
    expect(exitCode).toBe(2);
  });
});
