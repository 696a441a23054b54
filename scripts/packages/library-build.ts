import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { build } from "esbuild";
import { execa } from "execa";
import { LICENSES_FILE } from "../bundle/bundle.ts";
import { bundledPackages, thirdPartyLicenses } from "../bundle/third-party.ts";
import { projectRoot } from "../project-root.ts";

/** The modules that other programs import, by the name of their file in the package. */
const ENTRIES = { index: "shared/bmc/index.ts", testing: "simulators/recorded/start-recording.ts" };
/** What bundled packages declare, by what the sources import. */
const DECLARED: Readonly<Record<string, string>> = {
  zod: "node_modules/zod/index.d.ts",
  "zod/mini": "node_modules/zod/mini/index.d.ts",
};

/**
 * Writes the library with everything that it needs into a folder: modules, their types, and the licences of bundled packages. What is
 * loaded on demand stays a module of its own. `optional` packages are not bundled.
 */
export async function buildLibrary(
  folder: string,
  target: string,
  optional: readonly string[],
): Promise<void> {
  const [{ metafile }] = await Promise.all([
    build({
      absWorkingDir: projectRoot,
      entryPoints: ENTRIES,
      outdir: folder,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target,
      external: [...optional],
      metafile: true,
      logLevel: "silent",
    }),
    writeTypes(folder),
  ]);
  const packages = await bundledPackages([metafile], projectRoot);
  await writeFile(join(folder, LICENSES_FILE), await thirdPartyLicenses(packages, projectRoot));
}

async function writeTypes(folder: string): Promise<void> {
  const compiled = await mkdtemp(join(tmpdir(), "pbnj-library-"));
  try {
    await execa("tsc", ["-p", "tsconfig.library.json", "--outDir", compiled], {
      cwd: projectRoot,
      preferLocal: true,
    });
    await new Declarations(compiled, join(folder, "types")).copyAll();
  } finally {
    await rm(compiled, { recursive: true, force: true });
  }
  for (const [name, source] of Object.entries(ENTRIES)) {
    const path = `./types/${source.replace(/\.ts$/, ".js")}`;
    await writeFile(join(folder, `${name}.d.ts`), `export * from ${JSON.stringify(path)};\n`);
  }
}

/** Copies the declarations that the entries reach. */
class Declarations {
  readonly #compiled: string;
  readonly #folder: string;
  readonly #copied = new Set<string>();

  constructor(compiled: string, folder: string) {
    this.#compiled = compiled;
    this.#folder = folder;
  }

  async copyAll(): Promise<void> {
    for (const source of Object.values(ENTRIES)) await this.#copy(source.replace(/\.ts$/, ".d.ts"));
  }

  /** A path from the project's root. */
  async #copy(path: string): Promise<void> {
    if (this.#copied.has(path)) return;
    this.#copied.add(path);
    const text = await readFile(
      join(path.startsWith("node_modules/") ? projectRoot : this.#compiled, path),
      "utf8",
    );
    const reached: string[] = [];
    const placed = text.replace(
      /(?<=^(?! *\*).*(?:\bfrom |\bimport\(|^import ))"([^"]+)"/gm,
      (quoted, specifier: string) => {
        if (specifier.startsWith("node:")) return quoted;
        const file = specifier.startsWith(".")
          ? posix.join(dirname(path), specifier.replace(/\.[jt]s$/, ".d.ts"))
          : DECLARED[specifier];
        if (file === undefined) throw new Error(`${path} needs the types of ${specifier}`);
        reached.push(file);
        return JSON.stringify(specifierOf(path, file));
      },
    );
    const copy = join(this.#folder, placeOf(path));
    await mkdir(dirname(copy), { recursive: true });
    await writeFile(copy, placed);
    for (const file of reached) await this.#copy(file);
  }
}

/** npm leaves out any folder of the name node_modules. */
const placeOf = (path: string) => path.replace(/^node_modules\//, "");

function specifierOf(from: string, to: string): string {
  const path = posix.relative(posix.dirname(placeOf(from)), placeOf(to)).replace(/\.d\.ts$/, ".js");
  return path.startsWith(".") ? path : `./${path}`;
}
