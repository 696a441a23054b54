import { execa } from "execa";
import { bundledProgram } from "../support/bundled-program.ts";

const { file, compileCache } = await bundledProgram();

/** The released form of `pbnj-worker`. */
export const PROGRAM = file;

/** Runs `pbnj-worker` with nothing of this environment that it would read. */
export function runProgram(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return execa(process.execPath, [PROGRAM, ...argv], {
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: compileCache, ...env },
    extendEnv: false,
    reject: false,
    stdin: "ignore",
    timeout: 25_000,
  });
}
