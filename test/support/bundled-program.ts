import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { execa } from "execa";
import { type Bundle, bundleProgram, PROGRAM_FILE } from "../../scripts/bundle/bundle.ts";
import { writeCodeCache } from "../../scripts/bundle/code-cache.ts";
import { projectRoot } from "../../scripts/project-root.ts";
import { contentHash, exclusively } from "./built-once.ts";

/** Not a folder that other users can write to: what is in it is run. */
const CACHE = join(projectRoot, "node_modules/.cache/pbnj-worker-test");
const SOURCES = ["cli", "worker", "shared", "actions", "scripts/bundle", "package.json", "package-lock.json"];
/** Programs of other sources that no test has wanted for so long are removed. */
const KEPT_MS = 24 * 60 * 60_000;
const LONGEST_MS = 60_000;

/**
 * The program `pbnj-worker` as a release has it, bundled once for each state of the sources: a worker starts in half the
 * time that the sources take. Beside its scripts is what V8 compiled of them, as images have it, so that no worker of a test
 * compiles them again. `compileCache` is for what else Node compiles.
 */
export async function bundledProgram(): Promise<{ readonly file: string; readonly compileCache: string }> {
  const directory = join(CACHE, await contentHash(SOURCES, process.version));
  const program = { file: join(directory, PROGRAM_FILE), compileCache: join(directory, "compiled") };
  if (await isThere(program.file)) return program;
  using _lock = await exclusively("program");
  if (await isThere(program.file)) return program;
  await removeOld();
  const unfinished = `${directory}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const bundle = await bundleProgram(unfinished);
  await writeCodeCache(bundle.actions);
  await compileWorker(unfinished, bundle);
  await rename(unfinished, directory);
  return program;
}

/** Runs a worker until its first poll, and keeps the code cache that it writes when it ends. */
async function compileWorker(directory: string, { script }: Pick<Bundle, "script">): Promise<void> {
  const home = join(directory, "warm-up");
  const argv = ["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "a", "--http-address", "off"];
  const env = { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: home, XDG_STATE_HOME: home };
  const worker = execa(process.execPath, [join(directory, PROGRAM_FILE), ...argv], {
    ...{ env, extendEnv: false, stdin: "ignore", buffer: false, timeout: LONGEST_MS },
  });
  for await (const line of worker.iterable({ from: "stderr" })) {
    if (line.includes("tink server unavailable")) worker.kill("SIGTERM");
  }
  await worker;
  const written = (await readdir(home)).find((name) => name.startsWith(basename(script)));
  await rename(join(home, String(written)), `${script}.cache`);
  await rm(home, { recursive: true });
}

async function removeOld(): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  for (const name of await readdir(CACHE)) {
    const path = join(CACHE, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > KEPT_MS) await rm(path, { recursive: true, force: true });
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
