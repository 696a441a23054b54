import { cp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { execa } from "execa";
import { beforeAll, describe, expect, it } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { startLab } from "../../../cli/lab/lab.ts";
import { LICENSES_FILE, PROGRAM_FILE, SCRIPT_FOLDER } from "../../../scripts/bundle/bundle.ts";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { actionLab } from "../../actions/lab.ts";
import { bundledProgram } from "../../support/bundled-program.ts";
import { templateOf } from "../../support/lab.ts";
import { fileFolder } from "../../support/test-folder.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import { importedBy, loadedAtStart } from "./loaded-at-start.ts";

const program = await bundledProgram();
/** A copy without V8's compiled code, as in the npm package. */
const { folder: directory } = await fileFolder();
let metafile: Metafile;

beforeAll(async () => {
  metafile = JSON.parse(await readFile(program.metafile, "utf8"));
  await copyProgram(directory, (path) => !path.endsWith(".cache"));
});

function runBundle(...argv: readonly string[]) {
  return execa(process.execPath, [join(directory, PROGRAM_FILE), ...argv], {
    cwd: tmpdir(),
    env: { PATH: process.env["PATH"] ?? "", HOME: directory },
    extendEnv: false,
    reject: false,
    stdin: "ignore",
    timeout: 25_000,
  });
}

async function copyProgram(to: string, filter: (path: string) => boolean = () => true): Promise<void> {
  await cp(join(program.directory, SCRIPT_FOLDER), join(to, SCRIPT_FOLDER), { recursive: true, filter });
  await cp(program.file, join(to, PROGRAM_FILE));
}

/** What packages load if it is installed. */
const OPTIONAL = ["supports-color", "bufferutil", "utf-8-validate"];

describe("the bundled program", () => {
  it("is one file to run, and its script beside it", async () => {
    const beside = await readdir(join(directory, SCRIPT_FOLDER));
    const scripts = [/^actions-.*\.cjs$/, /^pbnj-worker-.*\.cjs$/].map((name) => expect.stringMatching(name));
    expect(beside.sort()).toEqual([
      "LICENSE",
      LICENSES_FILE,
      ...scripts.slice(0, 1),
      "node_modules",
      ...scripts.slice(1),
    ]);
    for (const name of beside.filter((file) => file.endsWith(".cjs"))) {
      expect(await readFile(join(directory, SCRIPT_FOLDER, name), "utf8")).not.toMatch(/[^\0-\x7f]/);
    }
    expect(await readFile(join(directory, PROGRAM_FILE), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it("has every action, and imports nothing but Node's modules", async () => {
    const outputs = Object.values(metafile.outputs);

    const inputs = outputs.flatMap((output) => Object.keys(output.inputs));
    const imports = outputs.flatMap((output) => output.imports);
    expect(inputs).toEqual(expect.arrayContaining(catalogue.map((name) => `actions/${name}/action.ts`)));
    const others = imports.filter(({ path, external }) => external && !isBuiltin(path));
    expect(others.map(({ path }) => path).filter((path) => !OPTIONAL.includes(path))).toEqual([]);
  });

  it("keeps what V8 compiled in the user's cache, and replaces what V8 rejects", async () => {
    const folder = join(directory, ".cache/pbnj-worker");
    const cacheOfActions = async () =>
      (await readdir(folder)).find((name) => name.endsWith("-actions")) ?? "";
    await runBundle("actions");
    const cache = join(folder, await cacheOfActions());
    const { length } = await readFile(cache);
    await writeFile(cache, "of another version of V8");

    const { exitCode, stderr } = await runBundle("actions");

    expect([exitCode, stderr]).toEqual([0, ""]);
    expect((await readFile(cache)).length).toBeGreaterThan(length / 2);
  });

  it("starts a worker from what V8 compiled for the worker before it", async () => {
    const folder = join(directory, "compiled");
    const startAndStop = async () => {
      await using worker = new WorkerProgram(["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "a"], {
        NODE_COMPILE_CACHE: folder,
      });
      await worker.untilLogged("tink server unavailable, retrying");
      worker.kill("SIGTERM");
      expect(await worker.ended).toMatchObject({ code: 0 });
      const [name = ""] = (await readdir(folder)).filter((each) => each.endsWith("-start"));
      const { ino, mtimeMs } = await stat(join(folder, name));
      return { name, ino, mtimeMs };
    };

    const written = await startAndStop();

    expect(await startAndStop()).toEqual(written);
  });

  it("reads the power with a cache that is shipped beside it", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });
    const copy = join(directory, "shipped");
    await copyProgram(copy);
    const caches = (await readdir(join(copy, SCRIPT_FOLDER))).filter((name) => name.endsWith(".cache"));
    const env = { PATH: process.env["PATH"] ?? "", HOME: copy, ...lab.env("redfish") };
    const argv = [join(copy, PROGRAM_FILE), "action", "power-status"];

    const ran = await execa(process.execPath, argv, { env, extendEnv: false, stdin: "ignore" });
    for (const name of caches) await writeFile(join(copy, SCRIPT_FOLDER, name), "of another version of V8");
    const again = await execa(process.execPath, argv, { env, extendEnv: false, stdin: "ignore" });

    expect(caches).toHaveLength(2);
    for (const { stdout } of [ran, again]) expect(parseResultLine(stdout)).toMatchObject({ ok: true });
    await expect(readdir(join(copy, ".cache"))).rejects.toThrow("ENOENT");
  });

  it("runs a template whose actions are the program itself", async () => {
    await using lab = await closing(startLab({ times: { powerOnMs: 40, powerOffMs: 40, softOffMs: 40 } }));
    const template = join(directory, "template.yaml");
    const steps = [{ name: "power-off" }, { name: "power-on" }];
    await writeFile(template, templateOf("pbnj-{{ .machine }}", ...steps));

    const argv = ["run", template, "--map", "machine=node-01", "--inventory", lab.inventoryFile];
    const { exitCode, stdout } = await runBundle(...argv);
    await rm(template);

    expect(stdout).toMatch(/power-off.*success/);
    expect(stdout).toMatch(/power-on.*success/);
    expect(lab.machines[0]?.machine.commands.map(({ action }) => action)).toEqual(["soft-off", "on"]);
    expect(exitCode).toBe(0);
  });

  it("loads for an action neither the worker nor what only that needs", () => {
    const reached = importedBy(metafile, "actions/run-named.ts", true);

    expect(reached).toContain("actions/power-off/action.ts");
    expect(reached).toContain("shared/bmc/providers/redfish/redfish-provider.ts");
    const foreign = /^(worker|cli)\/|connectrpc|@bufbuild|\/undici\//;
    expect(reached.filter((source) => foreign.test(source))).toEqual([]);
  });

  it("loads no action for the worker", () => {
    const reached = importedBy(metafile, "worker/commands/start.ts", true);

    expect(reached).toContain("worker/sources/tink/tink-api.ts");
    expect(reached.filter((source) => source.startsWith("actions/"))).toEqual([]);
  });

  it("loads neither the worker nor a BMC provider to complete what is typed", () => {
    const reached = importedBy(metafile, "cli/complete.ts");

    expect(reached).toContain("cli/complete-words.ts");
    expect(reached.filter((source) => /provider\.ts$|connectrpc|commander|zod/.test(source))).toEqual([]);
    const own = reached.filter((source) => source.startsWith("worker/"));
    expect(own).toEqual(["worker/commands.ts"]);
  });

  it("loads nothing of traces when the worker starts", () => {
    const traces = /@opentelemetry.(?!api)|action-traces|span-export/;

    expect(loadedAtStart(metafile, "worker/commands/start.ts", traces)).toEqual([]);
  });

  it("has nothing in it twice", () => {
    const inputs = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs));

    expect(inputs.filter((input, index) => inputs.indexOf(input) !== index)).toEqual([]);
  });

  it("carries the licences of what is in it", async () => {
    const text = await readFile(join(directory, SCRIPT_FOLDER, LICENSES_FILE), "utf8");

    for (const name of ["undici", "zod", "commander", "@connectrpc/connect", "yaml"]) {
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, "m"));
    }
  });
});

async function closing<T extends { close(): Promise<void> }>(starting: Promise<T>) {
  const started = await starting;
  return Object.assign(started, { [Symbol.asyncDispose]: () => started.close() });
}
