import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type BuildOptions, build, type Metafile } from "esbuild";
import { projectRoot } from "../project-root.ts";
import { leaveOutTransports } from "./leave-out-plugin.ts";
import { textFiles } from "./text-files-plugin.ts";
import { bundledPackages, namePackages, thirdPartyLicenses } from "./third-party.ts";
import { withoutNative } from "./without-native-plugin.ts";
export const LICENSES_FILE = "THIRD-PARTY-LICENSES";
/** The program in the folder of a bundled action. */
export const ACTION_FILE = "action.mjs";
export const PROGRAM_FILE = "pbnj-worker.mjs";
/** The folder of a bundle's script, its cache, and the names and licences of its packages, beside the programs or their folders. */
export const SCRIPT_FOLDER = "program";

const COMMON = {
  absWorkingDir: projectRoot,
  bundle: true,
  platform: "node",
  target: "node24",
  // Readable names would take a third of the file, and errors are shown without a stack.
  minify: true,
  sourcemap: false,
  logLevel: "silent",
} satisfies BuildOptions;
const KEPT = { metafile: true, write: false } satisfies BuildOptions;

/**
 * One script: Node resolves, reads and links each ES module on its own, and evaluates every getter of the built-in modules that
 * one imports. Modules that are imported on demand are evaluated on demand. `launcher.ts` calls the function.
 */
const SCRIPT = {
  ...COMMON,
  format: "cjs",
  legalComments: "eof",
  // Modules are strict, so the script must be.
  banner: { js: '(function (require, module, exports, __filename, __dirname, argv) {"use strict";' },
  footer: { js: "})" },
  supported: { "dynamic-import": false },
  define: {
    // undici's switch for being embedded in Node: leaves out a second, experimental HTTP parser.
    esbuildDetection: "1",
    "import.meta.filename": "__filename",
    "import.meta.dirname": "__dirname",
  },
} satisfies BuildOptions;

export interface Bundle {
  readonly metafile: Metafile;
  /** The path of the script. */
  readonly script: string;
}

/** The script of every action: its arguments begin with a name. */
const ANY_ACTION = [
  `import { runNamed } from "./actions/run-named.ts";`,
  `void runNamed("pbnj-worker action", argv);`,
].join("\n");

/** The script of every action on the program's command line, which has flags for machines of an inventory. */
const ACTION_OF_PROGRAM = [
  `import { INVENTORY_FLAGS } from "./actions/inventory-flags.ts";`,
  `import { runNamed } from "./actions/run-named.ts";`,
  `void runNamed("pbnj-worker action", argv, INVENTORY_FLAGS);`,
].join("\n");

/**
 * Bundles every action into one script without dependencies in `<directory>/program`, and writes the program of each of `names`,
 * `<name>/action.mjs`. `entry` is the text of a module at the project's root. Rejects with esbuild's messages.
 */
export async function bundleActions(
  names: readonly string[],
  directory: string,
  entry = ANY_ACTION,
): Promise<Bundle> {
  await removeScripts(directory);
  const bundle = await bundleScript(directory, "actions", {
    ...fromText(entry),
    plugins: [leaveOutTransports, withoutNative],
  });
  await writeThirdParty(directory, [bundle]);
  for (const name of names) {
    await writeLauncher(join(directory, name, ACTION_FILE), { main: bundle.script, leading: [name] });
  }
  return bundle;
}

/** The command line with the worker and every action, and the actions alone. */
export interface ProgramBundle extends Bundle {
  readonly actions: Bundle;
}

/**
 * Bundles the command line into `<directory>/pbnj-worker.mjs` and its scripts. One action has a script of its own, because even of code
 * that is not called every function has to be known: it starts 15 ms sooner. `commit` is what `version` prints.
 */
export async function bundleProgram(
  directory: string,
  { target = "node24", commit = "" }: { readonly target?: string; readonly commit?: string | undefined } = {},
): Promise<ProgramBundle> {
  await removeScripts(directory);
  const bundle = await bundleScript(directory, "pbnj-worker", {
    target,
    entryPoints: ["cli/main.ts"],
    define: { ...SCRIPT.define, BUILD_COMMIT: JSON.stringify(commit) },
    plugins: [textFiles, withoutNative],
  });
  const actions = await bundleScript(directory, "actions", {
    ...fromText(ACTION_OF_PROGRAM),
    target,
    plugins: [withoutNative],
  });
  await writeThirdParty(directory, [bundle, actions]);
  const scripts = { main: bundle.script, action: actions.script, leading: [] };
  await writeLauncher(join(directory, PROGRAM_FILE), scripts, "#!/usr/bin/env node");
  return { ...bundle, actions };
}

function fromText(contents: string): BuildOptions {
  return { stdin: { contents, resolveDir: projectRoot, sourcefile: "actions.entry.ts", loader: "ts" } };
}

/** The names of scripts depend on their content: those of an earlier build would stay. */
async function removeScripts(directory: string): Promise<void> {
  await rm(join(directory, SCRIPT_FOLDER), { recursive: true, force: true });
  await mkdir(join(directory, SCRIPT_FOLDER), { recursive: true });
}

async function bundleScript(directory: string, name: string, options: BuildOptions): Promise<Bundle> {
  const { metafile, outputFiles } = await build({ ...SCRIPT, ...options, ...KEPT });
  const text = asciiOnly(outputFiles[0]?.text.replace(/^#!.*\n/, "") ?? "");
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const script = join(directory, SCRIPT_FOLDER, `${name}-${hash}.cjs`);
  await writeFile(script, text);
  return { metafile, script };
}

/** V8 needs half the memory for such a script. esbuild escapes strings, but not tagged templates, regular expressions and comments. */
function asciiOnly(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

async function writeThirdParty(directory: string, bundles: readonly Bundle[]): Promise<void> {
  const folder = join(directory, SCRIPT_FOLDER);
  const packages = await bundledPackages(
    bundles.map(({ metafile }) => metafile),
    projectRoot,
  );
  await writeFile(join(folder, LICENSES_FILE), await thirdPartyLicenses(packages, projectRoot));
  await namePackages(packages, folder);
  await copyFile(join(projectRoot, "LICENSE"), join(folder, "LICENSE"));
}

interface Launched {
  /** The path of the script. */
  readonly main: string;
  /** The script of `action <name>`, without an inventory. */
  readonly action?: string;
  /** Precedes the command line. */
  readonly leading: readonly string[];
}

async function writeLauncher(
  file: string,
  { main, action, leading }: Launched,
  firstLine = "",
): Promise<void> {
  const fromFile = (path: string) => relative(dirname(file), path);
  const scripts = { main: fromFile(main), action: action === undefined ? null : fromFile(action) };
  await build({
    ...COMMON,
    format: "esm",
    write: true,
    // An older Node must be able to read it, and to say that it is too old.
    target: "node18",
    entryPoints: ["scripts/bundle/launcher.ts"],
    outfile: file,
    banner: { js: firstLine },
    define: { SCRIPTS: JSON.stringify(scripts), LEADING: JSON.stringify(leading) },
  });
  if (firstLine !== "") await chmod(file, 0o755);
}
