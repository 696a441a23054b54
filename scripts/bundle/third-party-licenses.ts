import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Metafile } from "esbuild";
import { z } from "zod";

const PackageFile = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().optional(),
});

/**
 * The licences of every bundled package, as one text. Third-party parts of a package have licence files of their own, in the
 * folders of the bundled files.
 */
export async function thirdPartyLicenses(metafiles: readonly Metafile[], root: string): Promise<string> {
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
  const entries = await Promise.all(
    [...folders].map(([packageFolder, within]) => entryOf(join(root, packageFolder), within, root)),
  );
  return entries.sort().join(`\n${"-".repeat(80)}\n\n`);
}

/** The folder of a file's package: `node_modules/name` or `node_modules/@scope/name`. */
function packageFolderOf(input: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

async function entryOf(packageFolder: string, within: ReadonlySet<string>, root: string): Promise<string> {
  const described = PackageFile.parse(
    JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8")),
  );
  const texts: string[] = [];
  for (const folder of [...within].sort()) {
    const names = (await readdir(join(root, folder))).filter((name) => /^(licen[cs]e|notice)/i.test(name));
    for (const name of names.sort()) texts.push((await readFile(join(root, folder, name), "utf8")).trim());
  }
  const title = `${described.name} ${described.version} (${described.license ?? "see below"})`;
  return `${[title, ...texts].join("\n\n")}\n`;
}
