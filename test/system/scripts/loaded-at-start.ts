import type { Metafile } from "esbuild";

/** Every file that `entry` imports, by itself or through others; with `lazily`, also what these import on demand. */
export function importedBy(metafile: Metafile, entry: string, lazily = false): readonly string[] {
  const files = new Set([entry]);
  for (const file of files) {
    const input = metafile.inputs[file];
    if (input === undefined) throw new Error(`${file} is not in the bundle`);
    for (const { path, kind, external } of input.imports) {
      if (!external && (lazily || kind !== "dynamic-import")) files.add(path);
    }
  }
  return [...files];
}

/** The files loaded at start that match `wanted`, which must match a file in the bundle. */
export function loadedAtStart(metafile: Metafile, entry: string, wanted: RegExp): readonly string[] {
  if (!Object.keys(metafile.inputs).some((file) => wanted.test(file))) {
    throw new Error(`nothing in the bundle matches ${wanted}`);
  }
  return importedBy(metafile, entry).filter((file) => wanted.test(file));
}
