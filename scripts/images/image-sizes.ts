import { createReadStream } from "node:fs";
import { mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { execa } from "execa";
import { z } from "zod";
import type { ContainerEngine } from "./container-engine.ts";

const Archive = z.array(
  z.object({ Config: z.string(), RepoTags: z.array(z.string()), Layers: z.array(z.string()) }),
);
const Config = z.object({ rootfs: z.object({ diff_ids: z.array(z.string()) }) });
/** A layer that an engine has compressed already begins with this. */
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

const MEBIBYTE = 1_048_576;

/** The maximum of what a host without any of its layers pulls for one image, in bytes. */
export const COMPRESSED_LIMIT_BYTES = 48 * MEBIBYTE;

export interface ImageSizes {
  readonly image: string;
  /** Size of the image's layers, compressed by gzip as registries have them. */
  readonly compressedBytes: number;
  /** Size of the layers that none of the other images has. */
  readonly ownBytes: number;
}

/** Saves the images together, to `archive` or a temporary file, and compresses each layer once. */
export async function imageSizes(
  engine: ContainerEngine,
  images: readonly string[],
  archive?: string,
): Promise<readonly ImageSizes[]> {
  const directory = await mkdtemp(join(tmpdir(), "pbnj-sizes-"));
  try {
    const file = archive ?? join(directory, "images.tar");
    const several = /podman$/.test(engine.program) ? ["--multi-image-archive"] : [];
    await engine.run(["save", ...several, "--output", file, ...images]);
    await execa("tar", ["--extract", "--file", file, "--directory", directory]);
    const layers = await layersIn(directory);
    const uses = Map.groupBy(
      images.flatMap((image) => [...(layers.get(image)?.keys() ?? [])]),
      (id) => id,
    );
    const sizes = new Map<string, number>();
    for (const [id, path] of [...layers.values()].flatMap((each) => [...each])) {
      if (!sizes.has(id)) sizes.set(id, await compressedSize(path));
    }
    return images.map((image) => {
      const ids = [...(layers.get(image)?.keys() ?? [])];
      const sum = (some: readonly string[]) => some.reduce((all, id) => all + (sizes.get(id) ?? 0), 0);
      const own = ids.filter((id) => uses.get(id)?.length === 1);
      return { image, compressedBytes: sum(ids), ownBytes: sum(own) };
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** By image, the file of each layer by the digest of its content: engines store the same layer under several names. */
async function layersIn(directory: string): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const read = async (file: string): Promise<unknown> =>
    JSON.parse(await readFile(join(directory, file), "utf8"));
  const found = new Map<string, ReadonlyMap<string, string>>();
  for (const { Config: file, RepoTags, Layers } of Archive.parse(await read("manifest.json"))) {
    const { rootfs } = Config.parse(await read(file));
    const paths = rootfs.diff_ids.map((id, index) => [id, join(directory, Layers[index] ?? "")] as const);
    for (const tag of RepoTags) found.set(tag, new Map(paths));
  }
  return found;
}

export function sizeTable(rows: readonly ImageSizes[]): string {
  const width = Math.max(5, ...rows.map(({ image }) => image.length));
  const line = (image: string, ...sizes: readonly string[]) =>
    [image.padEnd(width), ...sizes.map((size) => size.padStart(12))].join("");
  return [
    line("image", "compressed", "not shared"),
    ...rows.map(({ image, compressedBytes, ownBytes }) =>
      line(image, mebibytes(compressedBytes), mebibytes(ownBytes)),
    ),
  ].join("\n");
}

export function mebibytes(bytes: number): string {
  return `${(bytes / MEBIBYTE).toFixed(2)} MiB`;
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
