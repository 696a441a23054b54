import { catalogue, loadAction } from "../../actions/catalogue.ts";
import type { BaseImages } from "./base-image.ts";
import type { ImageBuild } from "./build-image.ts";
import { imageName, WORKER_IMAGE } from "./image-name.ts";

export interface ImageSet {
  readonly registry: string;
  readonly tag: string;
  readonly version: string;
  readonly bases: BaseImages;
  /** The commit. */
  readonly revision?: string;
  /** The page of the source repository. */
  readonly source?: string;
}

export interface ProjectImage extends ImageBuild {
  readonly name: string;
}

/** The builds of all images, or of those with these names: first the actions, then the worker. */
export async function projectImages(
  set: ImageSet,
  names: readonly string[] = [...catalogue, WORKER_IMAGE],
): Promise<readonly ProjectImage[]> {
  const { registry, tag, ...common } = set;
  const actions = names.filter((name) => name !== WORKER_IMAGE);
  const ofActions = actions.map(async (name): Promise<ProjectImage> => {
    const action = await loadAction(name);
    return {
      ...common,
      name,
      tag: imageName(registry, name, tag),
      dockerfile: "Dockerfile.action",
      action: name,
      ...(action && { description: action.summary, idempotent: action.idempotent }),
    };
  });
  const worker: ProjectImage = {
    ...common,
    name: WORKER_IMAGE,
    tag: imageName(registry, WORKER_IMAGE, tag),
    dockerfile: "Dockerfile.worker",
  };
  return [...(await Promise.all(ofActions)), ...(names.includes(WORKER_IMAGE) ? [worker] : [])];
}
