#!/usr/bin/env node
import module from "node:module";
import { EXIT_OUTPUT_LOST } from "../shared/contract/exit-code.ts";
import { compileCacheDirectory } from "./compile-cache.ts";

/** The program `pbnj-worker` with the worker's commands and the actions. Each command loads its modules when it runs. */
const file = import.meta.filename;

// By default SIGUSR1 opens a debugger, which would show passwords to every user of the host. SIGUSR2 is meant for a running
// worker; it must not end a worker that is starting, nor an action, to which a service manager sends it too.
for (const signal of ["SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => undefined);

process.stdout.on("error", outputFailed);

const compileCache = compileCacheDirectory(file, process.env);
// The launcher of a bundle does this itself.
if (compileCache !== undefined && file.endsWith(".ts")) module.enableCompileCache(compileCache);

const given = process.argv.slice(2);
// A bundle is a script, which cannot await at its top level.
void run(given[0] === "help" ? [...given.slice(1), "--help"] : given);

/** Handles lost output: an error such as a full disk gives one line and its own exit code. A closed pipe is not an error. */
function outputFailed({ code, message }: NodeJS.ErrnoException): void {
  if (code === "EPIPE" || process.listenerCount("exit", failAtExit) > 0) return;
  process.on("exit", failAtExit);
  process.stderr.write(`pbnj-worker: the output cannot be written: ${message}\n`);
}

function failAtExit(code: number): void {
  if (code === 0) process.exitCode = EXIT_OUTPUT_LOST;
}

async function run(argv: readonly string[]): Promise<void> {
  const record = await recordOf(argv);
  if (record) return run(record);
  if (argv[0] === "action") {
    const [name = "", ...own] = argv.slice(1);
    if (own.some((argument) => /^--inventory(=|$)/.test(argument))) {
      await (await import("./machines/run-on-machines.ts")).runOnMachines(name, own);
    } else {
      const { runNamed } = await import("../actions/run-named.ts");
      const { INVENTORY_FLAGS } = await import("../actions/inventory-flags.ts");
      await runNamed("pbnj-worker action", argv.slice(1), INVENTORY_FLAGS);
    }
    return;
  }
  const { catalogue } = await import("../actions/catalogue.ts");
  const cached = compileCache === undefined ? {} : { compileCacheDirectory: compileCache };
  const { actionLibrary } = await import("./action-library.ts");
  const own = { file, actions: catalogue, library: actionLibrary, ...cached };
  if (argv[0] === "complete") await (await import("./complete.ts")).complete(argv.slice(1), own);
  else await (await import("./program.ts")).runProgram(argv, own);
}

/** Rewrites `action <name> --record <file>`, which runs the action and records the BMC. */
async function recordOf(argv: readonly string[]): Promise<readonly string[] | undefined> {
  const [command, name = "", ...rest] = argv;
  if (command !== "action" || !rest.some((argument) => /^--record(=|$)/.test(argument))) return undefined;
  const { parseArguments } = await import("../shared/contract/given.ts");
  const { flags, strays } = parseArguments(rest);
  const words = flags.flatMap(({ flag, value }) => {
    if (flag === "--record") return value === undefined ? [] : [`--file=${value}`];
    if (flag === "--machine") return value === undefined ? [] : [value];
    return [value === undefined ? flag : `${flag}=${value}`];
  });
  return ["record", `--action=${name}`, ...words, ...strays];
}
