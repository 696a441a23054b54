import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { defined } from "../../shared/defined.ts";
import { textOf } from "../../shared/text-of.ts";
import { parseChangelog } from "../changelog.ts";
import { changedFiles, headCommit, taggedCommit } from "../git.ts";
import { PRODUCTION_BASE, provideBase } from "../images/base-image.ts";
import { removeStages } from "../images/build-image.ts";
import type { ContainerEngine } from "../images/container-engine.ts";
import { RELEASE_PLATFORMS, versionTag } from "../images/image-name.ts";
import { projectImages } from "../images/project-images.ts";
import { readManifest } from "../manifest.ts";
import { BAKED_BASE, type Builder, bake, builderProblem, findBuilder } from "./buildx.ts";
import { buildWithEngine } from "./engine-build.ts";
import { releaseProblems } from "./preflight.ts";
import type { ReleasedImage, ReleaseRecord } from "./release-record.ts";

export interface ReleaseOptions {
  readonly registry?: string | undefined;
  readonly push: boolean;
  /** A builder of buildx, by name. */
  readonly builder?: string | undefined;
  readonly nodeImage?: string | undefined;
  readonly baseImage?: string | undefined;
}

export interface ReleaseTools {
  /** The folder of the manifest, the changelog and the git repository. */
  readonly root: string;
  findEngine(): Promise<ContainerEngine>;
  /** Progress and remarks, one per line. */
  say(line: string): void;
}

export type ReleaseEnd =
  | { readonly ok: true; readonly record: ReleaseRecord }
  /** Nothing was built. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Builds every image of this version and, if requested, pushes them; reports every reason not to. */
export async function release(options: ReleaseOptions, tools: ReleaseTools): Promise<ReleaseEnd> {
  const { root, say } = tools;
  const { version, repository } = await readManifest(root);
  const tag = versionTag(version);
  const head = await headCommit(root);
  const problems = [
    ...releaseProblems({
      version,
      tag,
      registry: options.registry,
      push: options.push,
      bases: [options.nodeImage ?? PRODUCTION_BASE, ...(options.baseImage ? [options.baseImage] : [])],
      releases: parseChangelog(await readFile(join(root, "CHANGELOG.md"), "utf8")),
      head: head?.id,
      changedFiles: await changedFiles(root),
      taggedCommit: await taggedCommit(root, tag),
    }),
  ];
  const found = await findTools(options, tools).catch((thrown: unknown) => {
    problems.push(textOf(thrown));
    return undefined;
  });
  if (found?.problem !== undefined) problems.push(found.problem);
  if (!found || !head || options.registry === undefined || problems.length > 0)
    return { ok: false, problems };

  const { engine, builder } = found;
  const bases = builder
    ? basesOfBuilder(options)
    : await provideBase(engine, options, `${options.registry}/base:local`, say);
  const images = await projectImages({
    registry: options.registry,
    tag,
    version,
    bases,
    revision: head.id,
    ...defined({ source: repository }),
  });
  if (!builder) {
    const missing = options.builder === undefined ? "" : ", so no builder of that name either";
    say(
      `${engine.program} has no buildx${missing}: building for this machine's platform alone, without attestations`,
    );
  }
  const released: ReleasedImage[] = [];
  if (builder) {
    say(`building ${images.length} images${options.push ? " and pushing them" : ""}`);
    const digests = await bake(engine, images, {
      ...defined({ builder: builder.name }),
      platforms: RELEASE_PLATFORMS,
      push: options.push,
      sourceDateEpoch: String(Math.floor(Date.parse(head.date) / 1000)),
    });
    for (const { name, tag } of images) {
      released.push({ name, tag, ...defined({ digest: digests.get(name) }), platforms: RELEASE_PLATFORMS });
    }
  } else {
    for (const { name, ...image } of images) {
      say(`building ${image.tag}${options.push ? " and pushing it" : ""}`);
      const { platform, digest } = await buildWithEngine(engine, image, options.push);
      released.push({ name, tag: image.tag, ...defined({ digest }), platforms: [platform] });
    }
    await removeStages(engine, images);
  }
  return {
    ok: true,
    record: {
      version,
      revision: head.id,
      builder: builder ? "buildx" : basename(engine.program) === "podman" ? "podman" : "docker",
      pushed: options.push,
      attestations: builder ? ["sbom", "provenance"] : [],
      images: released,
    },
  };
}

interface FoundTools {
  readonly engine: ContainerEngine;
  readonly builder?: Builder;
  readonly problem?: string;
}

async function findTools(options: ReleaseOptions, tools: ReleaseTools): Promise<FoundTools> {
  const engine = await tools.findEngine();
  const builder = await findBuilder(engine, options.builder);
  if (!builder) return { engine };
  const problem = await builderProblem(engine, builder);
  return { engine, builder, ...defined({ problem }) };
}

/** A builder pulls its bases itself, for each platform, and makes the images' own with them. */
function basesOfBuilder({ nodeImage = PRODUCTION_BASE, baseImage = BAKED_BASE }: ReleaseOptions) {
  return { nodeImage, baseImage };
}
