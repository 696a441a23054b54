import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildOptions, build, type Metafile } from "esbuild";
import { leanUndici } from "./lean-undici-plugin.ts";
import { leaveOutUnreachable } from "./leave-out-plugin.ts";
import { slimUndici } from "./slim-undici-plugin.ts";
import { textFiles } from "./text-files-plugin.ts";
import { thirdPartyLicenses } from "./third-party-licenses.ts";

export const projectRoot = join(import.meta.dirname, "../..");
export const LICENSES_FILE = "THIRD-PARTY-LICENSES";

/** CommonJS packages in an ES module need these. */
const COMMON_JS_NAMES = `import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);
const __filename = import.meta.filename;
const __dirname = import.meta.dirname;`;

const COMMON: BuildOptions = {
  absWorkingDir: projectRoot,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node24",
  // Readable names would take a third of the file, and errors are shown without a stack.
  minify: true,
  sourcemap: false,
  legalComments: "eof",
  // undici's switch for being embedded in Node: leaves out a second, experimental HTTP parser.
  define: { esbuildDetection: "1" },
  banner: { js: COMMON_JS_NAMES },
  metafile: true,
  write: true,
  logLevel: "silent",
};

const SPLIT = {
  splitting: true,
  chunkNames: "parts/[name]-[hash]",
  outExtension: { ".js": ".mjs" },
} satisfies BuildOptions;

/** The program in the folder of a bundled action. */
export const ACTION_FILE = "action.mjs";

/**
 * Bundles each action without dependencies into `<directory>/<name>`, and the licences of its packages beside these folders.
 * Rejects with esbuild's messages.
 */
export async function bundleActions(
  names: readonly string[],
  directory: string,
): Promise<readonly Metafile[]> {
  const metafiles = await Promise.all(names.map((name) => bundleAction(name, join(directory, name))));
  await writeLicenses(directory, metafiles);
  return metafiles;
}

/**
 * Bundles one action, given by its name or as the text of an entry module at the project's root, into `<folder>/action.mjs`
 * and the parts that it loads on demand, `<folder>/parts/*.mjs`: a single file would load everything at its start.
 */
export async function bundleAction(
  name: string,
  folder: string,
  entry = actionEntry(name),
): Promise<Metafile> {
  await rm(folder, { recursive: true, force: true });
  const { metafile } = await build({
    ...COMMON,
    metafile: true,
    stdin: { contents: entry, resolveDir: projectRoot, sourcefile: `${name}.entry.ts`, loader: "ts" },
    outdir: folder,
    ...SPLIT,
    entryNames: "action",
    plugins: [slimUndici, leaveOutUnreachable],
  });
  return metafile;
}

/**
 * Bundles the command line with the worker and every action into `<directory>/pbnj-worker.mjs` and the parts that it loads on
 * demand, `<directory>/parts/*.mjs`. In one file, an action would start 30 ms later.
 */
export async function bundleProgram(directory: string, target = "node24"): Promise<Metafile> {
  // The names of parts depend on their content: those of an earlier build would stay.
  await rm(join(directory, "parts"), { recursive: true, force: true });
  const { metafile } = await build({
    ...COMMON,
    target,
    metafile: true,
    entryPoints: { "pbnj-worker": "cli/main.ts" },
    outdir: directory,
    ...SPLIT,
    plugins: [leanUndici, textFiles],
  });
  await writeLicenses(directory, [metafile]);
  return metafile;
}

function actionEntry(name: string): string {
  return [
    `import action from "./actions/${name}/action.ts";`,
    `import { main } from "./actions/harness/run/main.ts";`,
    `await main(action);`,
  ].join("\n");
}

async function writeLicenses(directory: string, metafiles: readonly Metafile[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, LICENSES_FILE), await thirdPartyLicenses(metafiles, projectRoot));
}
