import { textOf } from "../../shared/text-of.ts";
import type { ContainerEngine } from "./container-engine.ts";
import { buildLocalBase } from "./local-base.ts";

/** The base that the Dockerfiles name. */
export const PRODUCTION_BASE = "node:24-slim";

/** The bases of a build: one that bundles, and one that the images stand on. */
export interface BaseImages {
  readonly nodeImage: string;
  readonly baseImage: string;
}

/**
 * What to build on: the base asked for, else the production base where it is there or can be pulled, else a
 * local one tagged `localTag`. `say` is told which, and why.
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
    say(`${PRODUCTION_BASE} is not to be had (${reason}); building on a local base made of this Node`);
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
