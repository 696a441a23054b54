import { runNamed } from "./run-named.ts";

/** Runs any action from source: `node actions/main.ts power-off --help`. */
await runNamed("actions/main.ts", process.argv.slice(2));
