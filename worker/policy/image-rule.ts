import {
  canonicalRegistry,
  DEFAULT_REGISTRY,
  fullImageName,
  type ImageReference,
  parseImageReference,
  withLibrary,
} from "../../shared/contract/image-reference.ts";
import { EVERY_IMAGE, type Policy } from "./policy.ts";
import { matchesWildcard } from "./wildcard.ts";

/**
 * Whether an image matches a pattern. Both are compared in full, so `alpine` is `docker.io/library/alpine`. A pattern
 * without a tag allows every tag and digest. A pattern with a tag does not allow an additional digest: engines then
 * ignore the tag, so the digest may belong to any image.
 */
export function matchesImagePattern(pattern: string, reference: ImageReference): boolean {
  const [tagged = "", digest] = pattern.split("@");
  const colon = tagged.lastIndexOf(":");
  const hasTag = colon > tagged.lastIndexOf("/");
  const name = hasTag ? tagged.slice(0, colon) : tagged;
  if (!matchesWildcard(fullPattern(name), fullImageName(reference))) return false;
  if (digest !== undefined)
    return reference.digest !== undefined && matchesWildcard(digest, reference.digest);
  if (!hasTag) return true;
  return (
    reference.digest === undefined && matchesWildcard(tagged.slice(colon + 1), reference.tag ?? "latest")
  );
}

export function matchesAnyImage(patterns: readonly string[], reference: ImageReference): boolean {
  return patterns.some((pattern) => matchesImagePattern(pattern, reference));
}

/** The rule that an image breaks, if any. */
export function imageProblem(
  image: string,
  { images = EVERY_IMAGE, trustedImages = [], digestOnly }: Policy,
): { readonly rule: "images" | "digestOnly"; readonly message: string } | undefined {
  const reference = parseImageReference(image);
  if (!reference) return { rule: "images", message: `${JSON.stringify(image)} is not an image reference` };
  if (!matchesAnyImage(images, reference)) {
    return { rule: "images", message: `${image} is not allowed` };
  }
  const needsDigest = digestOnly === "trusted" ? matchesAnyImage(trustedImages, reference) : digestOnly;
  if (needsDigest && reference.digest === undefined) {
    return { rule: "digestOnly", message: `${image} has no digest: name the image as ${image}@sha256:…` };
  }
  return undefined;
}

/** The full pattern. A pattern that starts with a wildcard includes the registry. */
function fullPattern(name: string): string {
  const [first = "", ...rest] = name.split("/");
  if (first.includes("*")) return name;
  const named = rest.length > 0 && (first === "localhost" || /[.:A-Z]/.test(first));
  if (!named) return `${DEFAULT_REGISTRY}/${withLibrary(DEFAULT_REGISTRY, name)}`;
  const registry = canonicalRegistry(first);
  return `${registry}/${withLibrary(registry, rest.join("/"))}`;
}
