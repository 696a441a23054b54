import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { bundleProgram, PROGRAM_FILE } from "../../scripts/bundle/bundle.ts";
import { writeProgramCodeCache } from "../../scripts/bundle/code-cache.ts";
import { projectRoot } from "../../scripts/project-root.ts";
import { contentHash, exclusively } from "./built-once.ts";

export interface BundledProgram {
  readonly directory: string;
  readonly file: string;
  /** What esbuild says of it, as JSON. */
  readonly metafile: string;
  readonly compileCache: string;
}

/** Not a folder that other users can write to: what is in it is run. */
const CACHE = join(projectRoot, "node_modules/.cache/pbnj-worker-test");
const METAFILE = "metafile.json";
const SOURCES = ["cli", "worker", "shared", "actions", "scripts/bundle", "package.json", "package-lock.json"];
/** Programs of other sources that no test has wanted for so long are removed. */
const KEPT_MS = 24 * 60 * 60_000;

/**
 * The program `pbnj-worker` as a release has it, bundled once for each state of the sources: a worker starts in half the
 * time that the sources take. Beside its scripts is what V8 compiled of them, as images have it, so that no worker of a test
 * compiles them again. `compileCache` is for what else Node compiles.
 */
export async function bundledProgram(): Promise<BundledProgram> {
  const directory = join(
    CACHE,
    await contentHash([...SOURCES, relative(projectRoot, import.meta.filename)], process.version),
  );
  const program = {
    directory,
    file: join(directory, PROGRAM_FILE),
    metafile: join(directory, METAFILE),
    compileCache: join(directory, "compiled"),
  };
  if (await isThere(program.file)) return program;
  using _lock = await exclusively("program");
  if (await isThere(program.file)) return program;
  await removeOld();
  const unfinished = `${directory}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const bundle = await bundleProgram(unfinished);
  await writeProgramCodeCache(unfinished, bundle);
  await writeFile(join(unfinished, METAFILE), JSON.stringify(bundle.metafile));
  await rename(unfinished, directory);
  return program;
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
