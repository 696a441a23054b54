/**
 * Returns where the compiled code of the program `file` is kept between runs, because compiling takes most of the start. The
 * folder is never one that other users can write to, because its content is executed. Returns undefined for a user without a
 * home directory.
 */
export function compileCacheDirectory(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  // Not imported, because the launcher of a bundle must not import anything.
  const { dirname, isAbsolute, join } = process.getBuiltinModule("node:path");
  const given = env["NODE_COMPILE_CACHE"];
  if (given) return given;
  if (file.endsWith(".ts")) return join(dirname(file), "../node_modules/.cache/pbnj-worker");
  const base = env["XDG_CACHE_HOME"] ?? "";
  if (isAbsolute(base)) return join(base, "pbnj-worker");
  try {
    return join(process.getBuiltinModule("node:os").homedir(), ".cache/pbnj-worker");
  } catch {
    return undefined;
  }
}
