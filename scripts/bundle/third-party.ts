import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Metafile } from "esbuild";
import { z } from "zod";

const PackageFile = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().optional(),
});

/** A package of which something is bundled. */
interface BundledPackage extends z.infer<typeof PackageFile> {
  /** From the project's root, such as `node_modules/@scope/name`; a link of `node_modules` is followed. */
  readonly folder: string;
  /** The folders of its bundled files: third-party parts of a package have licence files of their own. */
  readonly within: ReadonlySet<string>;
}

/** In the order of their titles. */
export async function bundledPackages(
  metafiles: readonly Metafile[],
  root: string,
): Promise<readonly BundledPackage[]> {
  const inputs = metafiles.flatMap((metafile) => Object.keys(metafile.inputs));
  const folders = new Map<string, Set<string>>();
  for (const input of inputs) {
    const packageFolder = packageFolderOf(input);
    if (packageFolder === undefined) continue;
    const known = folders.get(packageFolder) ?? new Set([packageFolder]);
    for (let folder = dirname(input); folder.length > packageFolder.length; folder = dirname(folder)) {
      known.add(folder);
    }
    folders.set(packageFolder, known);
  }
  const packages = await Promise.all(
    [...folders].map(async ([folder, within]) => {
      const text = await readFile(join(root, folder, "package.json"), "utf8");
      return { ...PackageFile.parse(JSON.parse(text)), folder, within };
    }),
  );
  return packages.toSorted((one, other) => (titleOf(one) < titleOf(other) ? -1 : 1));
}

/** The licences of the packages, as one text. */
export async function thirdPartyLicenses(packages: readonly BundledPackage[], root: string): Promise<string> {
  const entries = await Promise.all(
    packages.map(
      async (bundled) => `${[titleOf(bundled), ...(await textsOf(bundled, root))].join("\n\n")}\n`,
    ),
  );
  return entries.join(`\n${"-".repeat(80)}\n\n`);
}

/** Names the packages below `directory` as npm does, so that scanners of an image find what is in its bundle. */
export async function namePackages(packages: readonly BundledPackage[], directory: string): Promise<void> {
  for (const { folder, name, version, license } of packages) {
    // A linked node_modules is outside the root, and must not be written to.
    const named = join(directory, folder.slice(folder.indexOf("node_modules/")));
    await mkdir(named, { recursive: true });
    await writeFile(join(named, "package.json"), `${JSON.stringify({ name, version, license })}\n`);
  }
}

/** The folder of a file's package: `node_modules/name` or `node_modules/@scope/name`. */
function packageFolderOf(input: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

function titleOf({ name, version, license }: z.infer<typeof PackageFile>): string {
  return `${name} ${version} (${license ?? "see below"})`;
}

async function textsOf({ within }: BundledPackage, root: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const folder of [...within].sort()) {
    const names = (await readdir(join(root, folder))).filter((name) => /^(licen[cs]e|notice)/i.test(name));
    for (const name of names.sort()) texts.push((await readFile(join(root, folder, name), "utf8")).trim());
  }
  return texts;
}
