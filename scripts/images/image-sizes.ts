import { createReadStream } from "node:fs";
import { mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { execa } from "execa";
import { z } from "zod";
import type { ContainerEngine } from "./container-engine.ts";

const Archive = z.array(z.object({ RepoTags: z.array(z.string()), Layers: z.array(z.string()) }));
/** A layer that an engine has compressed already begins with this. */
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** The maximum of what a host without any of its layers pulls for one image, in bytes. */
export const COMPRESSED_LIMIT_BYTES = 45_000_000;

export interface ImageSizes {
  readonly image: string;
  /** Of its layers, compressed by gzip as registries have them. */
  readonly compressedBytes: number;
  /** Of those layers that no other of the images has. */
  readonly ownBytes: number;
}

/** Saves the images together and compresses each layer once. */
export async function imageSizes(
  engine: ContainerEngine,
  images: readonly string[],
): Promise<readonly ImageSizes[]> {
  const directory = await mkdtemp(join(tmpdir(), "pbnj-sizes-"));
  try {
    const file = join(directory, "images.tar");
    const several = /podman$/.test(engine.program) ? ["--multi-image-archive"] : [];
    await engine.run(["save", ...several, "--output", file, ...images]);
    await execa("tar", ["--extract", "--file", file, "--directory", directory]);
    const archive = Archive.parse(JSON.parse(await readFile(join(directory, "manifest.json"), "utf8")));
    const layersOf = (image: string) =>
      archive.find(({ RepoTags }) => RepoTags.includes(image))?.Layers ?? [];
    const uses = Map.groupBy(images.flatMap(layersOf), (layer) => layer);
    const sizes = new Map<string, number>();
    for (const layer of uses.keys()) sizes.set(layer, await compressedSize(join(directory, layer)));
    const sum = (layers: readonly string[]) =>
      layers.reduce((all, layer) => all + (sizes.get(layer) ?? 0), 0);
    return images.map((image) => ({
      image,
      compressedBytes: sum(layersOf(image)),
      ownBytes: sum(layersOf(image).filter((layer) => uses.get(layer)?.length === 1)),
    }));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export function sizeTable(rows: readonly ImageSizes[]): string {
  const width = Math.max(5, ...rows.map(({ image }) => image.length));
  const line = (image: string, ...sizes: readonly string[]) =>
    [image.padEnd(width), ...sizes.map((size) => size.padStart(12))].join("");
  return [
    line("image", "compressed", "not shared"),
    ...rows.map(({ image, compressedBytes, ownBytes }) =>
      line(image, megabytes(compressedBytes), megabytes(ownBytes)),
    ),
  ].join("\n");
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(2)} MB`;
}

async function compressedSize(file: string): Promise<number> {
  if (await isCompressed(file)) return (await stat(file)).size;
  let size = 0;
  await pipeline(createReadStream(file), createGzip(), async (chunks) => {
    for await (const chunk of chunks) size += chunk.length;
  });
  return size;
}

async function isCompressed(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return buffer.equals(GZIP_MAGIC);
}
