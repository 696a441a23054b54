import { lstat, mkdir, open, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isTooDeep } from "../json-depth.ts";
import { makeFolder } from "../make-folder.ts";
import type { Recording } from "./recording.ts";

const MOST_FILES = 50_000;
const MOST_ENTRIES = 200_000;
const MOST_LEVELS = 40;
const MOST_BYTES = 64 * 1_048_576;
const FILE = "index.json";
const ROOT = "/redfish/v1";

/** A segment of a path that can be the name of a folder unchanged. */
const SAFE = /^(?!\.{1,2}$)[^\\/:*?"<>|\p{Cc}]{1,200}$/u;

/**
 * Writes the tree in the format of DMTF's mockup servers (DSP2043): `index.json` in a folder per path. Resolves to the paths
 * that were left out because they cannot be the name of a folder. Rejects if the folder exists.
 */
export async function writeMockup(
  folder: string,
  { resources }: Pick<Recording, "resources">,
): Promise<readonly string[]> {
  await mkdir(folder);
  const left: string[] = [];
  for (const [path, body] of Object.entries(resources)) {
    const parts = path.split("/").filter((part) => part !== "");
    if (!parts.every((part) => SAFE.test(part))) {
      left.push(path);
      continue;
    }
    const place = join(folder, ...parts);
    await makeFolder(place);
    await writeFile(join(place, FILE), `${JSON.stringify(body, undefined, 2)}\n`, { flag: "wx" });
  }
  return left;
}

/**
 * Reads a mockup folder in DMTF's long form, or in its short form without `redfish/v1`. Does not follow links out of the
 * folder.
 */
export async function readMockup(folder: string): Promise<Pick<Recording, "resources">> {
  const resources: Record<string, unknown> = {};
  let files = 0;
  let entries = 0;
  let bytes = 0;
  const walk = async (place: string, path: string, level: number): Promise<void> => {
    if (level > MOST_LEVELS) throw new Error(`${place} is nested too deeply`);
    for (const entry of await readdir(place, { withFileTypes: true })) {
      if (++entries > MOST_ENTRIES) throw new Error(`${folder} holds too much to be a mockup`);
      const file = join(place, entry.name);
      if (entry.isDirectory()) await walk(file, `${path}/${entry.name}`, level + 1);
      if (!entry.isFile() || entry.name !== FILE) continue;
      bytes += (await lstat(file)).size;
      if (++files > MOST_FILES || bytes > MOST_BYTES)
        throw new Error(`${folder} holds too much to be a mockup`);
      resources[path === "" ? "/" : path] = await readJson(file);
    }
  };
  await walk(folder, "", 0);
  const paths = Object.keys(resources);
  if (paths.length === 0) throw new Error(`${folder} has no ${FILE}`);
  if (paths.some((path) => path.startsWith(ROOT))) return { resources };
  const long = Object.entries(resources).map(
    ([path, body]) => [`${ROOT}${path}`.replace(/\/$/, ""), body] as const,
  );
  return { resources: Object.fromEntries(long) };
}

async function readJson(file: string): Promise<unknown> {
  const text = (await readFile(file, "utf8")).replace(/^\uFEFF/, "");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${file} is not JSON`);
  }
  if (isTooDeep(value)) throw new Error(`${file} has too many levels`);
  return value;
}

/** Reads a whole file of limited size. */
export async function readBounded(file: string, most: number): Promise<Buffer> {
  const opened = await open(file, "r");
  try {
    const { size } = await opened.stat();
    if (size > most) throw new Error(`it is larger than ${most} bytes`);
    return await opened.readFile();
  } finally {
    await opened.close();
  }
}
