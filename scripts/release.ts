import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { textOf } from "../shared/text-of.ts";
import { findContainerEngine } from "./images/container-engine.ts";
import { projectRoot } from "./project-root.ts";
import { release } from "./release/release.ts";
import { releaseText } from "./release/release-record.ts";
import { tool } from "./tool.ts";

const env = process.env;
const say = (line: string) => void process.stderr.write(`${line}\n`);

const options = tool(
  "release",
  "Builds the images of this version for amd64 and arm64, with SBOM and provenance, and records their digests.\nExits 2, saying every reason, when it is not fit to be released. Pushes nothing without --push.",
)
  .option("--registry <prefix>", "what image names begin with (required)", env["IMAGE_REGISTRY"])
  .option("--push", "push the images", false)
  .option("--builder <name>", "a builder of docker buildx (default: the one in use)", env["BUILDX_BUILDER"])
  .option("--engine <program>", "docker or podman (default: the first that answers)")
  .option("--node-image <image>", "what bundles: has node in its PATH", env["NODE_IMAGE"])
  .option("--base <image>", "what the images stand on (default: that of Dockerfile.base)", env["BASE_IMAGE"])
  .option("--output <file>", "where to write what was built", join(projectRoot, "dist/release.json"))
  .parse()
  .opts<{
    registry?: string;
    push: boolean;
    builder?: string;
    engine?: string;
    nodeImage?: string;
    base?: string;
    output: string;
  }>();

try {
  await releaseAll();
} catch (thrown) {
  say(textOf(thrown));
  process.exitCode = 1;
}

async function releaseAll(): Promise<void> {
  const end = await release(
    { ...options, baseImage: options.base },
    { root: projectRoot, findEngine: () => findContainerEngine(options.engine), say },
  );
  if (!end.ok) {
    say(end.problems.join("\n"));
    process.exitCode = 2;
    return;
  }
  const text = releaseText(end.record);
  await mkdir(dirname(options.output), { recursive: true });
  await writeFile(options.output, text);
  process.stdout.write(text);
  say(
    `${end.record.pushed ? "pushed" : "pushed nothing; built"} ${end.record.images.length} images, recorded in ${options.output}`,
  );
}
