import { z } from "zod";
import type { ContainerEngine } from "./container-engine.ts";

const ImageSize = z.array(z.object({ Size: z.number() })).min(1);

/** The maximum size of an action's own layers in bytes: a fleet pulls every action. */
export const OWN_LIMIT_BYTES = 1_000_000;

export interface ImageSizes {
  readonly image: string;
  readonly totalBytes: number;
  /** Shared with every other image of the same base. */
  readonly baseBytes: number;
  readonly ownBytes: number;
}

export async function imageSizes(engine: ContainerEngine, image: string, base: string): Promise<ImageSizes> {
  const [totalBytes, baseBytes] = await Promise.all([sizeOf(engine, image), sizeOf(engine, base)]);
  return { image, totalBytes, baseBytes, ownBytes: totalBytes - baseBytes };
}

export function sizeTable(rows: readonly ImageSizes[]): string {
  const width = Math.max(5, ...rows.map(({ image }) => image.length));
  const line = (image: string, ...sizes: readonly string[]) =>
    [image.padEnd(width), ...sizes.map((size) => size.padStart(12))].join("");
  return [
    line("image", "total", "shared base", "own"),
    ...rows.map((row) =>
      line(row.image, megabytes(row.totalBytes), megabytes(row.baseBytes), megabytes(row.ownBytes)),
    ),
  ].join("\n");
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(2)} MB`;
}

async function sizeOf(engine: ContainerEngine, image: string): Promise<number> {
  const [details] = ImageSize.parse(JSON.parse(await engine.run(["image", "inspect", image])));
  return details?.Size ?? 0;
}
