import { buildHostileImage } from "../attack/engine.ts";
import { buildActionImages } from "../support/action-images.ts";

/** What the images of the actions are called here; only containers need them to be there. */
export const REGISTRY = "localhost/pbnj-worker-chaos";
export const TAG = "chaos";
/** Prints without end. */
export const FLOOD = { image: `${REGISTRY}/hostile:${TAG}`, command: ["flood"] };

const ACTIONS = ["power-on", "power-off", "power-cycle", "set-pxe-once"];

/** Builds the images that the workflows name, from the sources as they are; returns their names. They stay. */
export async function buildImages(): Promise<readonly string[]> {
  await buildActionImages(REGISTRY, ACTIONS, TAG);
  await buildHostileImage(FLOOD.image);
  return [...ACTIONS.map((name) => `${REGISTRY}/${name}:${TAG}`), FLOOD.image];
}
