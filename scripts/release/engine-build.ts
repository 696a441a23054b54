import { z } from "zod";
import { defined } from "../../shared/defined.ts";
import { buildImage, type ImageBuild } from "../images/build-image.ts";
import type { ContainerEngine } from "../images/container-engine.ts";

const Details = z
  .array(
    z.object({
      Os: z.string(),
      Architecture: z.string(),
      RepoDigests: z.array(z.string()).nullish(),
    }),
  )
  .min(1);

export interface EngineBuilt {
  readonly platform: string;
  /** Known after a push: before, the engine has no manifest. */
  readonly digest?: string;
}

/** Builds an image for the engine's own platform and, if requested, pushes it. */
export async function buildWithEngine(
  engine: ContainerEngine,
  build: ImageBuild,
  push: boolean,
): Promise<EngineBuilt> {
  await buildImage(engine, build);
  if (push) await engine.run(["push", build.tag]);
  const [details] = Details.parse(JSON.parse(await engine.run(["image", "inspect", build.tag])));
  const repository = build.tag.slice(0, build.tag.lastIndexOf(":"));
  const pushed = push ? details?.RepoDigests?.find((entry) => entry.startsWith(`${repository}@`)) : undefined;
  const digest = pushed?.slice(repository.length + 1);
  if (push && digest === undefined)
    throw new Error(`${build.tag} was pushed, but the engine knows no digest of it`);
  return {
    platform: `${details?.Os}/${details?.Architecture}`,
    ...defined({ digest }),
  };
}
