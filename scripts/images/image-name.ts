import { IMAGE_REGISTRY } from "../../shared/image-registry.ts";

/** The platforms of a release's images. */
export const RELEASE_PLATFORMS = ["linux/amd64", "linux/arm64"] as const;

/** The name of the worker's image. */
export const WORKER_IMAGE = "worker";

/** The tag of a version's images and commit. */
export function versionTag(version: string): string {
  return `v${version}`;
}

/** An image's full name: `registry.example/pbnj-worker/power-off:v1.2.3`. */
export function imageName(registry: string, name: string, tag: string): string {
  return `${registry}/${name}:${tag}`;
}

/**
 * The problem with a prefix of image names, if any. References have a host, an optional port and lower-case path components
 * (OCI distribution specification, "Pulling manifests").
 */
export function registryProblem(registry: string): string | undefined {
  const host =
    /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\d+)?$/;
  const component = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
  const [first = "", ...path] = registry.split("/");
  if (host.test(first) && path.every((part) => component.test(part))) return undefined;
  return `the registry ${JSON.stringify(registry)} is not a host and path such as ${IMAGE_REGISTRY}`;
}
