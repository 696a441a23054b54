import { textOf } from "../../shared/text-of.ts";
import type { ContainerEngine } from "./container-engine.ts";
import { buildLocalBase } from "./local-base.ts";

/** The base in the Dockerfiles. */
export const PRODUCTION_BASE = "node:24-slim";

/** The base for bundling, and the base of the images. */
export interface BaseImages {
  readonly nodeImage: string;
  readonly baseImage: string;
}

/**
 * The base to build on: the requested one, else the production base if it is present or can be pulled, else a local one tagged
 * `localTag`. Passes to `say` which one, and why.
 */
export async function provideBase(
  engine: ContainerEngine,
  wanted: { readonly nodeImage?: string | undefined; readonly baseImage?: string | undefined },
  localTag: string,
  say: (line: string) => void,
): Promise<BaseImages> {
  const nodeImage = wanted.nodeImage ?? (await productionOrLocal(engine, localTag, say));
  const baseImage = wanted.baseImage ?? nodeImage;
  await ensurePresent(engine, baseImage);
  return { nodeImage, baseImage };
}

async function productionOrLocal(
  engine: ContainerEngine,
  localTag: string,
  say: (line: string) => void,
): Promise<string> {
  try {
    await ensurePresent(engine, PRODUCTION_BASE);
    return PRODUCTION_BASE;
  } catch (thrown) {
    const reason = textOf(thrown);
    say(`${PRODUCTION_BASE} is not available (${reason}); building on a local base made of this Node`);
    await buildLocalBase(engine, localTag);
    return localTag;
  }
}

async function ensurePresent(engine: ContainerEngine, image: string): Promise<void> {
  try {
    await engine.run(["image", "inspect", image]);
  } catch {
    await engine.run(["pull", image]);
  }
}
