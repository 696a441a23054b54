import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { defined } from "../../shared/defined.ts";
import { type ImageBuild, sourceArguments } from "../images/build-image.ts";
import type { ContainerEngine } from "../images/container-engine.ts";

/** A builder for several platforms, with attestations. */
export interface Builder {
  /** The requested one; absent for the client's current one. */
  readonly name?: string;
  readonly driver: string;
}

export interface BuildxOptions {
  readonly builder?: string;
  readonly platforms: readonly string[];
  readonly push: boolean;
  readonly metadataFile: string;
}

/** The part of buildx's metadata that a release records. */
const Metadata = z.object({ "containerimage.digest": z.string().regex(/^sha256:[0-9a-f]{64}$/) });

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
 * The arguments of `docker buildx build` for one image of a release. Without a push the image stays in the builder's cache,
 * because an engine cannot store several platforms.
 */
export function buildxArguments(build: ImageBuild, options: BuildxOptions): readonly string[] {
  return [
    ...["buildx", "build"],
    ...(options.builder === undefined ? [] : ["--builder", options.builder]),
    ...["--platform", options.platforms.join(",")],
    ...["--sbom=true", "--provenance=mode=max"],
    ...["--metadata-file", options.metadataFile],
    ...["--output", `type=image,push=${options.push}`],
    ...sourceArguments(build),
  ];
}

/** Builds the image and, if requested, pushes it. Resolves with the digest of the index of all platforms. */
export async function buildWithBuildx(
  engine: ContainerEngine,
  build: ImageBuild,
  options: Omit<BuildxOptions, "metadataFile"> & { readonly sourceDateEpoch: string },
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "pbnj-release-"));
  try {
    const metadataFile = join(directory, "metadata.json");
    const env = { SOURCE_DATE_EPOCH: options.sourceDateEpoch };
    await engine.run(buildxArguments(build, { ...options, metadataFile }), env);
    return Metadata.parse(JSON.parse(await readFile(metadataFile, "utf8")))["containerimage.digest"];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
