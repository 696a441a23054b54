import type { Metafile } from "esbuild";

/** The files that match `wanted` among those that are loaded with `entry`, without dynamic imports. */
export function loadedAtStart(
  metafile: Metafile | undefined,
  entry: string,
  wanted: RegExp,
): readonly string[] {
  const outputs = metafile?.outputs ?? {};
  const inputsOf = (file: string) => Object.keys(outputs[file]?.inputs ?? {});
  const loaded = new Set<string>();
  const load = (file: string) => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const { path, kind } of outputs[file]?.imports ?? []) if (kind !== "dynamic-import") load(path);
  };
  const first = Object.keys(outputs).find((file) => outputs[file]?.entryPoint === entry);
  if (first === undefined) throw new Error(`no output begins with ${entry}`);
  if (
    !Object.keys(outputs)
      .flatMap(inputsOf)
      .some((file) => wanted.test(file))
  ) {
    throw new Error(`nothing in the bundle matches ${wanted}`);
  }
  load(first);
  return [...loaded].flatMap(inputsOf).filter((file) => wanted.test(file));
}
