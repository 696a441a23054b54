import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

/**
 * Where Node keeps what it compiled of the program `file` between runs: most of a start is compiling. Never a folder that
 * other users can write to, as what is in it is run. Undefined for a user without a home.
 */
export function compileCacheDirectory(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const given = env["NODE_COMPILE_CACHE"];
  if (given) return given;
  if (file.endsWith(".ts")) return join(dirname(file), "../node_modules/.cache/pbnj-worker");
  const base = env["XDG_CACHE_HOME"] ?? "";
  if (isAbsolute(base)) return join(base, "pbnj-worker");
  try {
    return join(homedir(), ".cache/pbnj-worker");
  } catch {
    return undefined;
  }
}
