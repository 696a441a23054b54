import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { defined } from "../../shared/defined.ts";
import { buildValues } from "../images/build-image.ts";
import type { ContainerEngine } from "../images/container-engine.ts";
import type { ProjectImage } from "../images/project-images.ts";
import { projectRoot } from "../project-root.ts";

/** A builder for several platforms, with attestations. */
export interface Builder {
  /** The requested one; absent for the client's current one. */
  readonly name?: string;
  readonly driver: string;
}

export interface BakeOptions {
  readonly platforms: readonly string[];
  readonly push: boolean;
  /** The time of all files and images, in seconds. */
  readonly sourceDateEpoch: string;
}

/** The part of a target's metadata that a release records. */
const Metadata = z.object({ "containerimage.digest": z.string().regex(/^sha256:[0-9a-f]{64}$/) });

/** The base image that the same build makes of Dockerfile.base, as `BASE_IMAGE` of the others. */
export const BAKED_BASE = "pbnj-worker-base";

/** The builder, or undefined without buildx. Rejects if the requested one does not exist. */
export async function findBuilder(engine: ContainerEngine, name?: string): Promise<Builder | undefined> {
  const hasBuildx = await engine.run(["buildx", "version"]).then(
    () => true,
    () => false,
  );
  if (!hasBuildx) return undefined;
  const said = await engine.run(["buildx", "inspect", ...(name === undefined ? [] : [name])]);
  const driver = /^Driver:\s+(\S+)/m.exec(said)?.[1] ?? "unknown";
  return { ...defined({ name }), driver };
}

/**
 * Why a builder cannot build a release, if so: the engine's own builder supports one platform and no attestations, unless the
 * engine stores images in containerd.
 */
export async function builderProblem(
  engine: ContainerEngine,
  { name, driver }: Builder,
): Promise<string | undefined> {
  if (driver !== "docker") return undefined;
  const status = await engine.run(["info", "--format", "{{json .DriverStatus}}"]);
  if (status.includes("io.containerd.snapshotter")) return undefined;
  return `the builder ${name ?? "in use"} has the driver docker, which builds for one platform and without attestations: make another with docker buildx create --driver docker-container --use`;
}

/**
 * The file of `docker buildx bake` for all images of a release: one build, which sends the sources once, bundles once and makes the
 * base once. Without a push the images stay in the builder's cache, because an engine cannot store several platforms.
 */
export function bakeFile(
  images: readonly ProjectImage[],
  { platforms, push, sourceDateEpoch }: BakeOptions,
): object {
  const time = { SOURCE_DATE_EPOCH: sourceDateEpoch };
  const own = images.filter(({ bases }) => bases.baseImage === BAKED_BASE);
  const targets = images.map((image) => [
    image.name,
    {
      context: projectRoot,
      dockerfile: image.dockerfile,
      args: { ...buildValues(image), ...time },
      tags: [image.tag],
      platforms,
      attest: ["type=sbom", "type=provenance,mode=max"],
      output: [`type=image,push=${push}`],
      ...(own.includes(image) ? { contexts: { [BAKED_BASE]: `target:${BAKED_BASE}` } } : {}),
    },
  ]);
  const [first] = own;
  const base = {
    context: projectRoot,
    dockerfile: "Dockerfile.base",
    platforms,
    ...(first && { args: { NODE_IMAGE: first.bases.nodeImage, ...time } }),
  };
  return {
    group: { default: { targets: images.map(({ name }) => name) } },
    target: { ...Object.fromEntries(targets), ...(first && { [BAKED_BASE]: base }) },
  };
}

/** Builds the images and, if requested, pushes them. Resolves with the digests of their indexes of all platforms. */
export async function bake(
  engine: ContainerEngine,
  images: readonly ProjectImage[],
  options: BakeOptions & { readonly builder?: string },
): Promise<ReadonlyMap<string, string>> {
  const directory = await mkdtemp(join(tmpdir(), "pbnj-release-"));
  try {
    const file = join(directory, "bake.json");
    const metadataFile = join(directory, "metadata.json");
    await writeFile(file, JSON.stringify(bakeFile(images, options)));
    const builder = options.builder === undefined ? [] : ["--builder", options.builder];
    await engine.run(["buildx", "bake", ...builder, "--file", file, "--metadata-file", metadataFile]);
    const metadata = z
      .record(z.string(), z.unknown())
      .parse(JSON.parse(await readFile(metadataFile, "utf8")));
    return new Map(images.map(({ name }) => [name, Metadata.parse(metadata[name])["containerimage.digest"]]));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
