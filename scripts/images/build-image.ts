import { join } from "node:path";
import type { BaseImages } from "./base-image.ts";
import type { ContainerEngine } from "./container-engine.ts";

const projectRoot = join(import.meta.dirname, "../..");

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
  /** Whether running that a second time leaves the machine as after the first. */
  readonly idempotent?: boolean;
}

export async function buildImage(engine: ContainerEngine, build: ImageBuild): Promise<void> {
  await engine.run(buildArguments(build));
}

/** The arguments of `docker build`, as `podman build` takes them too. */
export function buildArguments(build: ImageBuild): readonly string[] {
  // The classic builder would leave the container of a failed step behind.
  return ["build", "--force-rm", ...sourceArguments(build)];
}

/** What every builder is told alike: what to build, from what, and what it says of itself. */
export function sourceArguments(build: ImageBuild): readonly string[] {
  const values = {
    NODE_IMAGE: build.bases.nodeImage,
    BASE_IMAGE: build.bases.baseImage,
    ACTION: build.action,
    VERSION: build.version,
    DESCRIPTION: build.description,
    REVISION: build.revision,
    SOURCE: build.source,
    IDEMPOTENT: build.idempotent,
  };
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return [
    ...["--file", join(projectRoot, build.dockerfile)],
    ...["--tag", build.tag],
    ...given.flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
    projectRoot,
  ];
}
