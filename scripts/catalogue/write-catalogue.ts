import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import { catalogue, loadAction } from "../../actions/catalogue.ts";
import { defined } from "../../shared/defined.ts";
import { loadReference } from "../action-folders.ts";
import { RepositoryMetadata } from "./artifact-hub.ts";
import { packageMetadata } from "./package-metadata.ts";
import { packageReadme } from "./package-readme.ts";
import type { Publication } from "./publication.ts";

/** The files of the Artifact Hub repository of one version, by path: one folder per action and version. */
export async function catalogueFiles(
  root: string,
  publication: Publication,
): Promise<ReadonlyMap<string, string>> {
  const packages = await Promise.all(catalogue.map((name) => packageFiles(root, name, publication)));
  return new Map([
    ["artifacthub-repo.yml", yamlText(repositoryMetadata(publication))],
    ...packages.flatMap((files) => [...files]),
  ]);
}

/** The files of one action. Rejects without its reference or its README. */
export async function packageFiles(
  root: string,
  name: string,
  publication: Publication,
): Promise<ReadonlyMap<string, string>> {
  const action = await loadAction(name);
  if (!action) throw new Error(`there is no action ${name}`);
  const reference = await loadReference(name);
  const readme = await readFile(join(root, "actions", name, "README.md"), "utf8");
  const folder = `${name}/${publication.version}`;
  return new Map([
    [`${folder}/README.md`, packageReadme(readme, name, publication)],
    [`${folder}/artifacthub-pkg.yml`, yamlText(packageMetadata(action, reference, publication))],
  ]);
}

/** Writes the files. Keeps other versions, and replaces an earlier attempt at this one. */
export async function writeCatalogue(
  directory: string,
  version: string,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  for (const name of catalogue) await rm(join(directory, name, version), { recursive: true, force: true });
  for (const [path, text] of files) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
}

/** The hub reads YAML 1.1, where a plain `on` is a boolean and a plain date a time: such text is quoted. */
function yamlText(value: unknown): string {
  return stringify(value, { compat: "yaml-1.1", lineWidth: 0, aliasDuplicateObjects: false });
}

function repositoryMetadata({ repositoryId, maintainers }: Publication): RepositoryMetadata {
  return RepositoryMetadata.parse({
    ...defined({ repositoryID: repositoryId }),
    ...(maintainers.length === 0 ? {} : { owners: maintainers }),
  });
}
