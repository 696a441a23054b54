import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";

export const PROGRAM = join(import.meta.dirname, "../../cli/main.ts");
/** Stripping types and compiling is most of a start, and the same for all of them. */
const COMPILE_CACHE = join(tmpdir(), "pbnj-worker-test-compile-cache");

/** Runs `pbnj-worker` from the sources, with nothing of this environment that it would read. */
export function runProgram(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return execa(process.execPath, [PROGRAM, ...argv], {
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    extendEnv: false,
    reject: false,
    stdin: "ignore",
    timeout: 25_000,
  });
}
