import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import type { Catalogue } from "./catalogue.ts";
import { matchesAnyImage, matchesImagePattern } from "./image-rule.ts";
import type { ImageCommand, Policy } from "./policy.ts";

interface TrustPolicy {
  readonly trustedImages?: readonly string[] | undefined;
}

/** Whether an image receives its machine's BMC connection. */
export function isTrusted({ trustedImages = [] }: TrustPolicy, image: string): boolean {
  const reference = parseImageReference(image);
  return reference !== undefined && matchesAnyImage(trustedImages, reference);
}

/** The action of this project in a trusted image; undefined for other images. */
export function ownActionOf(policy: TrustPolicy, catalogue: Catalogue, image: string): string | undefined {
  return isTrusted(policy, image) ? actionNamed(catalogue, image) : undefined;
}

/** Images of this project that are not actions: they run whatever their arguments say. */
const NO_ACTIONS = new Set(["base", "worker"]);
const HELP = "--help";

/** Why an image must not run: it would receive no BMC connection, or would pass one on to its arguments. */
export function trustProblem(policy: TrustPolicy, catalogue: Catalogue, image: string): string | undefined {
  if (!isTrusted(policy, image)) {
    return actionNamed(catalogue, image) && `${image} is not trusted with BMC connections`;
  }
  const name = parseImageReference(image)?.name ?? "";
  if (!NO_ACTIONS.has(name) || isNamed(policy, image)) return undefined;
  return `${image} is not an action: images named ${name} must be listed without a wildcard`;
}

/**
 * Why an action must not have arguments. A trusted image of another project may run whatever they say, with the connection.
 * An image that the policy names without a wildcard may have them.
 */
export function argumentProblem(
  policy: TrustPolicy,
  catalogue: Catalogue,
  { image, command }: ImageCommand,
): string | undefined {
  const isHarmless = command.every((argument) => argument === HELP);
  if (isHarmless || !isTrusted(policy, image) || actionNamed(catalogue, image) !== undefined)
    return undefined;
  if (isNamed(policy, image)) return undefined;
  return `${image} takes no arguments from a template: list it without a wildcard if it may have them together with a BMC connection`;
}

/** Whether a pattern names the image. If every image is trusted, a template can name one that does anything. */
function isNamed({ trustedImages = [] }: TrustPolicy, image: string): boolean {
  const reference = parseImageReference(image);
  return trustedImages.some((pattern) => {
    const last = pattern.split("@")[0]?.split("/").at(-1)?.split(":")[0] ?? "";
    const names = pattern === "**" || !last.includes("*");
    return names && reference !== undefined && matchesImagePattern(pattern, reference);
  });
}

/** The action whose name an image probably misspells; undefined for images that the policy names. */
export function misspeltAction(
  { images = [], trustedImages = [] }: Policy,
  catalogue: Catalogue,
  image: string,
): string | undefined {
  const name = parseImageReference(image)?.name ?? "";
  if (NO_ACTIONS.has(name) || actionNamed(catalogue, image) !== undefined) return undefined;
  const patterns = [...images, ...trustedImages].filter((pattern) => pattern !== "**");
  return isNamed({ trustedImages: patterns }, image) ? undefined : nearestName(name, catalogue.names());
}

/** The action of an image, which is named after it. */
function actionNamed(catalogue: Catalogue, image: string): string | undefined {
  const name = parseImageReference(image)?.name;
  return name !== undefined && catalogue.names().includes(name) ? name : undefined;
}
