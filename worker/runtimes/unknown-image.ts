import { type ImageReference, parseImageReference } from "../../shared/contract/image-reference.ts";
import { nearestName, suggestion } from "../../shared/nearest-name.ts";

/** `, did you mean x?` if an image of this name cannot exist because an action's name is misspelt, or nothing. */
export function suggestedAction({ name }: ImageReference, actions: readonly string[]): string {
  return actions.includes(name) ? "" : suggestion(name, actions);
}

/** Why a runtime that only has actions of its own cannot run an image. */
export function unknownImage(runtime: string, image: string, actions: readonly string[]): string {
  const name = parseImageReference(image)?.name;
  const nearest = name === undefined ? undefined : nearestName(name, actions);
  const advice = nearest === undefined ? "`pbnj-worker actions` lists them" : `did you mean ${nearest}?`;
  return `the ${runtime} runtime has no action for the image ${image}: ${advice}`;
}
