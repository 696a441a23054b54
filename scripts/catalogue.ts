import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { textOf } from "../shared/text-of.ts";
import { preparePublication } from "./catalogue/publication.ts";
import { catalogueFiles, writeCatalogue } from "./catalogue/write-catalogue.ts";
import { parseChangelog } from "./changelog.ts";
import { headCommit } from "./git.ts";
import { readManifest } from "./manifest.ts";
import { projectRoot } from "./project-root.ts";
import { tool } from "./tool.ts";

const env = process.env;
const say = (line: string) => void process.stderr.write(`${line}\n`);

const options = tool(
  "catalogue",
  "Writes the Artifact Hub repository (kind: Tinkerbell actions) of this version: a package an action.\nExits 2, saying all that is missing or wrong, when something is.",
)
  .option("--output <directory>", "where to; other versions there stay", join(projectRoot, "dist/catalogue"))
  .option("--registry <prefix>", "what image names begin with (required)", env["IMAGE_REGISTRY"])
  .option("--home-url <url>", "the project's page (default: package.json)", env["HOME_URL"])
  .option("--maintainer <person...>", "`Name <address>` (default: package.json)")
  .option(
    "--provider <name>",
    "who provides the actions (default: package.json)",
    env["ARTIFACTHUB_PROVIDER"],
  )
  .option("--repository-id <uuid>", "the hub's ID of the repository", env["ARTIFACTHUB_REPOSITORY_ID"])
  .option("--repository-name <name>", "the hub's name of the repository", env["ARTIFACTHUB_REPOSITORY_NAME"])
  .parse()
  .opts<{
    output: string;
    registry?: string;
    homeUrl?: string;
    maintainer?: string[];
    provider?: string;
    repositoryId?: string;
    repositoryName?: string;
  }>();

try {
  await writeAll();
} catch (thrown) {
  say(textOf(thrown));
  process.exitCode = 1;
}

async function writeAll(): Promise<void> {
  const manifest = await readManifest(projectRoot);
  const releases = parseChangelog(await readFile(join(projectRoot, "CHANGELOG.md"), "utf8"));
  const prepared = preparePublication(manifest, releases, {
    ...options,
    maintainers: options.maintainer,
    sourceDateEpoch: env["SOURCE_DATE_EPOCH"],
    commitDate: (await headCommit(projectRoot))?.date,
  });
  if (!prepared.ok) {
    say(prepared.problems.join("\n"));
    process.exitCode = 2;
    return;
  }
  const files = await catalogueFiles(projectRoot, prepared.publication);
  await writeCatalogue(options.output, manifest.version, files);
  say(`wrote ${files.size} files of version ${manifest.version} into ${options.output}`);
}
