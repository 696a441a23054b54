#!/usr/bin/env node
import module from "node:module";
import { compileCacheDirectory } from "./compile-cache.ts";

/** The program `pbnj-worker` with the worker's commands and the actions. Each command loads its modules when it runs. */
const file = import.meta.filename;
/** That of undici 8. */
const OLDEST_NODE = [22, 19] as const;

// By default SIGUSR1 opens a debugger, which would show passwords to every user of the host. SIGUSR2 is for a running worker
// and must not end one that is starting, nor actions, which a service manager signals as well.
for (const signal of ["SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => undefined);

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  process.stderr.write(
    `pbnj-worker needs Node ${OLDEST_NODE.join(".")} or later, this is ${process.version}\n`,
  );
  process.exit(2);
}
const compileCache = compileCacheDirectory(file, process.env);
if (compileCache !== undefined) module.enableCompileCache(compileCache);

const given = process.argv.slice(2);
const argv = given[0] === "help" ? [...given.slice(1), "--help"] : given;
if (argv[0] === "action") {
  const [name = "", ...own] = argv.slice(1);
  if (own.some((argument) => /^--inventory(=|$)/.test(argument))) {
    await (await import("./machines/run-on-machines.ts")).runOnMachines(name, own);
  } else {
    const { runNamed } = await import("../actions/run-named.ts");
    await runNamed("pbnj-worker action", argv.slice(1));
  }
} else {
  const { catalogue } = await import("../actions/catalogue.ts");
  const cached = compileCache === undefined ? {} : { compileCacheDirectory: compileCache };
  const { actionLibrary } = await import("./action-library.ts");
  const own = { file, actions: catalogue, library: actionLibrary, ...cached };
  if (argv[0] === "complete") await (await import("./complete.ts")).complete(argv.slice(1), own);
  else await (await import("./program.ts")).runProgram(argv, own);
}
