import { join } from "node:path";
import { defined } from "../../shared/defined.ts";
import { projectRoot } from "../project-root.ts";
import type { BaseImages } from "./base-image.ts";
import type { ContainerEngine } from "./container-engine.ts";

export interface ImageBuild {
  readonly tag: string;
  readonly dockerfile: "Dockerfile.action" | "Dockerfile.worker";
  readonly bases: BaseImages;
  readonly version: string;
  readonly description?: string;
  readonly revision?: string;
  readonly source?: string;
  /** For `Dockerfile.action`. */
  readonly action?: string;
  /** Whether running the action twice has the same effect as once. */
  readonly idempotent?: boolean;
}

export async function buildImage(engine: ContainerEngine, build: ImageBuild): Promise<void> {
  await engine.run(buildArguments(build));
}

/** Removes the stages of these images, which a builder other than BuildKit leaves as images without a name. */
export async function removeStages(engine: ContainerEngine, builds: readonly ImageBuild[]): Promise<void> {
  for (const dockerfile of new Set(builds.map((build) => build.dockerfile))) {
    await engine.run(["image", "prune", "--force", "--filter", `label=pbnj-worker.stage=${dockerfile}`]);
  }
}

/** The arguments of `docker build`, which `podman build` accepts as well. */
export function buildArguments(build: ImageBuild): readonly string[] {
  return [
    // The classic builder would keep the container of a failed step.
    ...["build", "--force-rm"],
    ...["--file", join(projectRoot, build.dockerfile)],
    ...["--tag", build.tag],
    ...Object.entries(buildValues(build)).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
    projectRoot,
  ];
}

/** The build arguments for every builder: what to build, and the labels. */
export function buildValues(build: ImageBuild): Readonly<Record<string, string>> {
  const values = {
    NODE_IMAGE: build.bases.nodeImage,
    BASE_IMAGE: build.bases.baseImage,
    ACTION: build.action,
    VERSION: build.version,
    DESCRIPTION: build.description,
    REVISION: build.revision,
    SOURCE: build.source,
    IDEMPOTENT: build.idempotent?.toString(),
  };
  return defined(values);
}
