import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { z } from "zod";
import { formatSeconds } from "../shared/duration.ts";
import { bundleProgram } from "./bundle/bundle.ts";
import { headCommit } from "./git.ts";
import { readManifest } from "./manifest.ts";
import { buildLibrary } from "./packages/library-build.ts";
import { filePages } from "./project-pages.ts";
import { projectRoot } from "./project-root.ts";
import { tool, toolProgress } from "./tool.ts";

const Manifest = z.looseObject({ dependencies: z.record(z.string(), z.string()) });
/** What both packages have of the sources' own manifest. */
const SHARED = ["version", "license", "author", "homepage", "repository", "bugs"];

const { output } = tool(
  "packages",
  "Assembles the npm packages: pbnj-worker (the command line) and @pbnj-worker/bmc (the library).",
)
  .option("--output <directory>", "where to", join(projectRoot, "dist/packages"))
  .parse()
  .opts<{ output: string }>();

const root = Manifest.parse(JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")));
const { repository = "", version } = await readManifest(projectRoot);
const pages = filePages(repository, version);
const shared = Object.fromEntries(Object.entries(root).filter(([name]) => SHARED.includes(name)));
/** What only some programs need: a console over SSH. */
const OPTIONAL = ["ssh2"];
// Required by undici 8, which the command line contains.
const engines = { node: ">=22.19" };
const TARGET = "node22.19";

await rm(output, { recursive: true, force: true });
const lines = toolProgress();
await Promise.all([
  assemble("pbnj-worker", commandLine(join(output, "pbnj-worker"))),
  assemble("@pbnj-worker/bmc", library(join(output, "bmc"))),
]);
process.stderr.write(`assembled pbnj-worker and @pbnj-worker/bmc in ${output}\n`);

async function assemble(name: string, assembling: Promise<void>): Promise<void> {
  const startedMs = performance.now();
  lines.show(name, { text: "assembling" });
  await assembling;
  lines.end(name);
  const took = formatSeconds(performance.now() - startedMs);
  lines.above(() => process.stderr.write(`${name}: assembled in ${took}\n`));
}

async function commandLine(folder: string): Promise<void> {
  await bundleProgram(join(folder, "dist"), { target: TARGET, commit: (await headCommit(projectRoot))?.id });
  const { description, keywords } = root;
  await finish(folder, "README.md", {
    name: "pbnj-worker",
    description,
    keywords,
    bin: { "pbnj-worker": "dist/pbnj-worker.mjs" },
    exports: { "./package.json": "./package.json" },
    files: ["dist", "CHANGELOG.md"],
  });
}

async function library(folder: string): Promise<void> {
  await buildLibrary(join(folder, "dist"), TARGET, OPTIONAL);
  const optional = Object.entries(root.dependencies).filter(([name]) => OPTIONAL.includes(name));
  await finish(folder, "docs/reference/bmc-library.md", {
    name: "@pbnj-worker/bmc",
    description:
      "A BMC client for Redfish, IPMI, Intel AMT and webhooks: power, boot device, virtual media and more",
    keywords: ["bmc", "redfish", "ipmi", "amt", "bare-metal"],
    exports: {
      ".": { types: "./dist/index.d.ts", default: "./dist/index.js" },
      "./testing": { types: "./dist/testing.d.ts", default: "./dist/testing.js" },
      "./package.json": "./package.json",
    },
    files: ["dist", "CHANGELOG.md"],
    peerDependencies: Object.fromEntries(optional),
    peerDependenciesMeta: Object.fromEntries(OPTIONAL.map((name) => [name, { optional: true }])),
  });
}

/** Writes manifest and documents. Links of the README that lead to other files of the sources lead to their pages. */
async function finish(folder: string, readme: string, manifest: Record<string, unknown>): Promise<void> {
  await mkdir(folder, { recursive: true });
  const text = await readFile(join(projectRoot, readme), "utf8");
  const standing = text.replace(
    /(?<=\]\()(?!https?:|#)([^)\s]+)/g,
    (link) => `${pages}/${posix.join(dirname(readme), link)}`,
  );
  await writeFile(join(folder, "README.md"), standing);
  await writeFile(
    join(folder, "package.json"),
    `${JSON.stringify({ ...manifest, ...shared, type: "module", engines }, null, 2)}\n`,
  );
  for (const file of ["CHANGELOG.md", "LICENSE"]) await cp(join(projectRoot, file), join(folder, file));
}
