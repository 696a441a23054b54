import { join } from "node:path";
import { execa } from "execa";
import { bundledProgram } from "../support/bundled-program.ts";

export const PROGRAM = join(import.meta.dirname, "../../cli/main.ts");

/** Runs the bundled `pbnj-worker`, with nothing of this environment that it would read. */
export async function runProgram(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { file, compileCache } = await bundledProgram();
  return execa(process.execPath, [file, ...argv], {
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: compileCache, ...env },
    extendEnv: false,
    reject: false,
    stdin: "ignore",
    timeout: 25_000,
  });
}
