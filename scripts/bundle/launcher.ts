import { compileCacheDirectory } from "../../cli/compile-cache.ts";
import { readOwnCache, writeOwnCache } from "./own-cache.ts";

/**
 * The first file of a bundled program. It evaluates the other one, a script in the form of a function, with what V8 has
 * compiled of it before: the cache beside the script, which images have, else one in the user's cache folder. V8 rejects a cache of
 * another Node version, processor architecture or set of flags; then the script is compiled as usual.
 *
 * It imports nothing, as `process.getBuiltinModule` does not evaluate every getter of a built-in module, which `import` does.
 */
type Start = (
  require: NodeJS.Require,
  module: object,
  exports: object,
  filename: string,
  dirname: string,
  argv: readonly string[],
) => void;

// Set by the bundler.
/** The scripts' paths from this file's folder. Names have the hash of the content, because V8 compares only the length. */
declare const SCRIPTS: { readonly main: string; readonly action: string | null };
/** What precedes the command line. */
declare const LEADING: readonly string[];

/** `exitCodeOf("usage")`; its module would load more. */
const USAGE = 2;
/** That of undici 8. */
const OLDEST_NODE = [22, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  process.stderr.write(
    `pbnj-worker needs Node ${OLDEST_NODE.join(".")} or later, this is ${process.version}\n`,
  );
  process.exit(USAGE);
}
// cli/main.ts does the same, but not for the actions' script.
for (const signal of ["SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => undefined);

const argv = [...LEADING, ...process.argv.slice(2)];
const { action } = SCRIPTS;
// Several machines of an inventory need what the worker knows of inventories; a recording, what no action does.
const isOneAction =
  action !== null && argv[0] === "action" && !argv.some((word) => /^--(inventory|record)(=|$)/.test(word));
if (isOneAction) launch(action, argv.slice(1));
else launch(SCRIPTS.main, argv);

function launch(path: string, ownArgv: readonly string[]): void {
  const { join } = process.getBuiltinModule("node:path");
  const { readFileSync } = process.getBuiltinModule("node:fs");
  const { Script } = process.getBuiltinModule("node:vm");
  const { createRequire } = process.getBuiltinModule("node:module");
  const filename = join(import.meta.dirname, path);
  // The bundler escapes every other character.
  const source = readFileSync(filename, "latin1");
  const shipped = readIfThere(`${filename}.cache`);
  const own = shipped ? undefined : ownCacheFile(filename);
  const cachedData = shipped ?? (own === undefined ? undefined : readOwnCache(own));
  const script = new Script(source, { filename, ...(cachedData && { cachedData }) });
  if (own !== undefined && (!cachedData || script.cachedDataRejected)) {
    // A refused command line compiles little, and may be any word.
    process.once("exit", (code) => {
      if (code !== USAGE) writeOwnCache(own, script.createCachedData());
    });
  }
  const start: Start = script.runInThisContext();
  start(createRequire(filename), {}, {}, import.meta.filename, import.meta.dirname, ownArgv);

  function readIfThere(path: string): Buffer | undefined {
    try {
      return readFileSync(path);
    } catch {
      return undefined;
    }
  }
}

/** One file per command, and per action: what is compiled is what has been called. */
function ownCacheFile(script: string): string | undefined {
  if (process.env["NODE_DISABLE_COMPILE_CACHE"] === "1") return undefined;
  const directory = compileCacheDirectory(import.meta.filename, process.env);
  if (directory === undefined) return undefined;
  const { basename, join } = process.getBuiltinModule("node:path");
  const [command = "", name = ""] = argv;
  const words = (command === "action" ? [command, name] : [command]).filter((word) =>
    /^[a-z][a-z-]*$/.test(word),
  );
  return join(directory, [basename(script), process.version, process.arch, ...words].join("-"));
}
