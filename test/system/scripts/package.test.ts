import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { catalogue } from "../../../actions/catalogue.ts";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { actionLab } from "../../actions/lab.ts";

const projectRoot = join(import.meta.dirname, "../../..");
/** What is neither needed to pack nor small, or would be made anew. */
const LEFT_OUT = new Set([".git", "node_modules", "dist", "test", "bench"]);
const Manifest = z.object({ bin: z.object({ "pbnj-worker": z.string() }) });

let folder = "";
let unpacked = "";
let program = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pbnj-package-"));
  // Packed from a copy, so that nothing changes in the folder that is developed in.
  const copy = join(folder, "copy");
  await cp(projectRoot, copy, {
    recursive: true,
    filter: (source) => !LEFT_OUT.has(relative(projectRoot, source).split("/")[0] ?? ""),
  });
  await symlink(join(projectRoot, "node_modules"), join(copy, "node_modules"));
  await execa("npm", ["pack", "--pack-destination", folder], { cwd: copy });
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "";
  // An empty folder: nothing there but the package, not even what it depends on.
  await mkdir(join(folder, "empty"));
  await execa("tar", ["-xzf", join(folder, tarball), "-C", join(folder, "empty")]);
  unpacked = join(folder, "empty/package");
  const { bin } = Manifest.parse(JSON.parse(await readFile(join(unpacked, "package.json"), "utf8")));
  program = join(unpacked, bin["pbnj-worker"]);
}, 240_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return execa(process.execPath, [program, ...argv], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
    extendEnv: false,
    stdin: "ignore",
    timeout: 25_000,
  });
}

test("the package holds the program, the library and the documents, and no bundle an action", async () => {
  expect((await readdir(join(unpacked, "dist"))).sort()).toEqual([
    "THIRD-PARTY-LICENSES",
    "library",
    "parts",
    "pbnj-worker.mjs",
  ]);
  expect(await readdir(unpacked)).toEqual(
    expect.arrayContaining(["CHANGELOG.md", "LICENSE", "README.md", "docs", "package.json"]),
  );
});

test("the packed program lists the actions", async () => {
  const { stdout } = await run(["actions"]);

  expect(stdout.split("\n")).toHaveLength(catalogue.length);
});

test("the packed program shows the inputs of an action", async () => {
  const { stdout } = await run(["action", "power-status", "--help"]);

  expect(stdout).toContain("--bmc-host <text>");
});

test.each(["redfish", "ipmi"] as const)("the packed program reads the power by %s", async (provider) => {
  await using lab = await actionLab({ machine: { power: "on" } });

  const { stdout } = await run(["action", "power-status"], lab.env(provider));

  expect(parseResultLine(stdout)).toMatchObject({ ok: true, message: `on via ${provider}` });
});

test("the packed program says what its worker lacks to start", async () => {
  await expect(run(["start"])).rejects.toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("--grpc-server"),
  });
});
