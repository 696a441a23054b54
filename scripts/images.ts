import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { catalogue } from "../actions/catalogue.ts";
import { defined } from "../shared/defined.ts";
import { formatSeconds } from "../shared/duration.ts";
import { textOf } from "../shared/text-of.ts";
import { mapLimited } from "../worker/doctor/map-limited.ts";
import { headCommit } from "./git.ts";
import { provideBase } from "./images/base-image.ts";
import { buildImage, removeStages } from "./images/build-image.ts";
import { findContainerEngine } from "./images/container-engine.ts";
import { versionTag, WORKER_IMAGE } from "./images/image-name.ts";
import { COMPRESSED_LIMIT_BYTES, imageSizes, mebibytes, sizeTable } from "./images/image-sizes.ts";
import { type ProjectImage, projectImages } from "./images/project-images.ts";
import { readManifest } from "./manifest.ts";
import { projectRoot } from "./project-root.ts";
import { tool, toolProgress } from "./tool.ts";

/** Each build sends the sources to the engine, and then waits for it. */
const AT_ONCE = 4;
const manifest = await readManifest(projectRoot);
const lines = toolProgress();
const say = (line: string) => void lines.above(() => process.stderr.write(`${line}\n`));

const options = tool(
  "images",
  "Builds the image of every action and of the worker: <registry>/<name>:<version>.",
)
  .option("--image <name...>", `only these: ${WORKER_IMAGE}, or names of actions`)
  .option("--push", "push them to the registry", false)
  .option("--save <file>", "write them to an archive, for docker load on a host without registry")
  .option("--engine <program>", "docker or podman (default: the first that answers)")
  .option(
    "--registry <prefix>",
    "what image names begin with",
    process.env["IMAGE_REGISTRY"] ?? "localhost/pbnj-worker",
  )
  .option("--version <tag>", "the tag", versionTag(manifest.version))
  .option("--node-image <image>", "what bundles: has node in its PATH", process.env["NODE_IMAGE"])
  .option("--base <image>", "what the images stand on (default: the node image)", process.env["BASE_IMAGE"])
  .parse()
  .opts<{
    image?: string[];
    push: boolean;
    save?: string;
    engine?: string;
    registry: string;
    version: string;
    nodeImage?: string;
    base?: string;
  }>();

const names = [WORKER_IMAGE, ...catalogue];
const unknown = options.image?.filter((name) => !names.includes(name)) ?? [];
if (unknown.length > 0) {
  say(`no such image: ${unknown.join(", ")}\nImages: ${names.join(", ")}`);
  process.exit(2);
}

try {
  await buildAll();
} catch (thrown) {
  lines.clear();
  say(textOf(thrown));
  process.exitCode = 1;
}

async function buildAll(): Promise<void> {
  lines.show("images", { text: "preparing the base" });
  const engine = await findContainerEngine(options.engine);
  const wanted = { nodeImage: options.nodeImage, baseImage: options.base };
  const bases = await provideBase(engine, wanted, `${options.registry}/base:local`, say);
  const revision = (await headCommit(projectRoot))?.id;
  const images = await projectImages(
    {
      registry: options.registry,
      tag: options.version,
      version: options.version.replace(/^v(?=\d)/, ""),
      bases,
      ...defined({ revision, source: manifest.repository }),
    },
    options.image,
  );
  lines.end("images");
  const build = async (image: ProjectImage) => {
    const startedMs = performance.now();
    lines.show(image.name, { text: "building" });
    await buildImage(engine, image);
    lines.end(image.name);
    say(`${image.tag}: built in ${formatSeconds(performance.now() - startedMs)}`);
  };
  // By name: a long registry would leave no room for what happens.
  for (const { name } of images) lines.note(name, "waiting for its turn");
  // The first one bundles all actions; the others find that in the engine's cache.
  const [first, ...others] = images;
  if (first) await build(first);
  const failed = (_: ProjectImage, thrown: unknown): void => {
    throw thrown;
  };
  await mapLimited(others, { mostAtATime: AT_ONCE, work: build, failed }, new AbortController().signal);
  lines.show("images", { text: "measuring" });
  await removeStages(engine, images);

  const tags = images.map(({ tag }) => tag);
  if (options.save) await mkdir(dirname(options.save), { recursive: true });
  const sizes = await imageSizes(engine, tags, options.save && resolve(options.save));
  lines.end("images");
  process.stdout.write(`${sizeTable(sizes)}\n`);
  if (options.save) say(`saved to ${options.save}`);
  if (options.push) {
    for (const { name, tag } of images) {
      lines.show(name, { text: "pushing" });
      await engine.run(["push", tag]);
      lines.end(name);
    }
  }
  say("without SBOM, provenance and signature, which a release has");
  const tooLarge = sizes.filter(({ compressedBytes }) => compressedBytes > COMPRESSED_LIMIT_BYTES);
  if (tooLarge.length > 0) {
    say(
      `more than ${mebibytes(COMPRESSED_LIMIT_BYTES)} compressed: ${tooLarge.map(({ image }) => image).join(", ")}`,
    );
    process.exitCode = 1;
  }
}
