import { nearestName } from "../../shared/nearest-name.ts";
import { parseImageReference } from "../action/image-reference.ts";

/** Why a runtime that only has actions of its own cannot run an image. */
export function unknownImage(runtime: string, image: string, actions: readonly string[]): string {
  const name = parseImageReference(image)?.name;
  const nearest = name === undefined ? undefined : nearestName(name, actions);
  const advice = nearest === undefined ? "`pbnj-worker actions` lists them" : `did you mean ${nearest}?`;
  return `the ${runtime} runtime has no action for the image ${image}: ${advice}`;
}
