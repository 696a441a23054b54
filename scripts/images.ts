import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { execa } from "execa";
import { z } from "zod";
import { catalogue, loadAction } from "../actions/catalogue.ts";
import { provideBase } from "./images/base-image.ts";
import { buildImage } from "./images/build-image.ts";
import { findContainerEngine } from "./images/container-engine.ts";
import { type ImageSizes, imageSizes, megabytes, OWN_LIMIT_BYTES, sizeTable } from "./images/image-sizes.ts";

const PackageFile = z.object({
  version: z.string(),
  repository: z.union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)]).optional(),
});

const projectRoot = join(import.meta.dirname, "..");
const described = PackageFile.parse(JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")));
const say = (line: string) => void process.stderr.write(`${line}\n`);

const options = new Command("images")
  .description("Builds the image of every action and of the worker: <registry>/<name>:<version>.")
  .option("--action <name...>", "only these actions, and no worker")
  .option("--engine <program>", "docker or podman (default: the first that answers)")
  .option(
    "--registry <prefix>",
    "what image names begin with",
    process.env["IMAGE_REGISTRY"] ?? "localhost/pbnj-worker",
  )
  .option("--version <tag>", "the tag", `v${described.version}`)
  .option("--node-image <image>", "what bundles: has node in its PATH", process.env["NODE_IMAGE"])
  .option("--base <image>", "what the images stand on (default: the node image)", process.env["BASE_IMAGE"])
  .parse()
  .opts<{
    action?: string[];
    engine?: string;
    registry: string;
    version: string;
    nodeImage?: string;
    base?: string;
  }>();

const unknown = options.action?.filter((name) => !catalogue.includes(name)) ?? [];
if (unknown.length > 0) {
  say(`no such action: ${unknown.join(", ")}\nActions: ${catalogue.join(", ")}`);
  process.exit(2);
}

try {
  await buildAll();
} catch (thrown) {
  say(thrown instanceof Error ? thrown.message : String(thrown));
  process.exitCode = 1;
}

async function buildAll(): Promise<void> {
  const engine = await findContainerEngine(options.engine);
  const wanted = { nodeImage: options.nodeImage, baseImage: options.base };
  const bases = await provideBase(engine, wanted, `${options.registry}/base:local`, say);
  const revision = await execa("git", ["rev-parse", "HEAD"], { cwd: projectRoot, reject: false });
  const common = {
    bases,
    version: options.version.replace(/^v(?=\d)/, ""),
    ...(revision.exitCode === 0 ? { revision: revision.stdout } : {}),
    ...(described.repository === undefined ? {} : { source: described.repository }),
  };

  const actions: ImageSizes[] = [];
  for (const name of options.action ?? catalogue) {
    const tag = `${options.registry}/${name}:${options.version}`;
    say(`building ${tag}`);
    const description = (await loadAction(name))?.summary;
    await buildImage(engine, {
      ...common,
      tag,
      dockerfile: "Dockerfile.action",
      action: name,
      ...(description === undefined ? {} : { description }),
    });
    actions.push(await imageSizes(engine, tag, bases.baseImage));
  }
  const others: ImageSizes[] = [];
  if (!options.action) {
    const tag = `${options.registry}/worker:${options.version}`;
    say(`building ${tag}`);
    await buildImage(engine, { ...common, tag, dockerfile: "Dockerfile.worker" });
    others.push(await imageSizes(engine, tag, bases.baseImage));
  }

  process.stdout.write(`${sizeTable([...actions, ...others])}\n`);
  const tooLarge = actions.filter(({ ownBytes }) => ownBytes > OWN_LIMIT_BYTES);
  if (tooLarge.length > 0) {
    say(
      `more than ${megabytes(OWN_LIMIT_BYTES)} of their own: ${tooLarge.map(({ image }) => image).join(", ")}`,
    );
    process.exitCode = 1;
  }
}
