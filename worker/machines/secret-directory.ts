import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { FileProblem } from "../document/read-text-file.ts";

/** What Kubernetes' atomic writer swaps: a link to the folder of the present generation. */
const GENERATION_LINK = "..data";
const MOST_FILES = 100;
/** What never stands still is read as it is the last time; each attempt takes a millisecond or two. */
const MOST_ATTEMPTS = 50;

interface Contents {
  /** Files that are not hidden, sorted. */
  readonly names: readonly string[];
  /** The same text as long as nothing was changed. */
  readonly mark: string;
}

/**
 * Hands the folder behind `directory` to `read`, and does so again when that folder was changed meanwhile: what is
 * read comes out of one generation, also where the directory, or what it is a link to, is swapped whole. Rejects with
 * a `FileProblem` or a system error.
 */
export async function readFolder<T>(
  directory: string,
  read: (folder: string, names: readonly string[]) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const [reading, isChanged] = await readOnce(directory, read);
    if (isChanged && attempt < MOST_ATTEMPTS) continue;
    if (reading.status === "rejected") throw reading.reason;
    return reading.value;
  }
}

async function readOnce<T>(
  directory: string,
  read: (folder: string, names: readonly string[]) => Promise<T>,
): Promise<readonly [PromiseSettledResult<T>, isChanged: boolean]> {
  const isLinked = await hasLink(directory);
  let folder: string;
  let before: Contents;
  try {
    // No link is left above the folder, so that it stays this one whatever is swapped.
    folder = await realpath(isLinked ? join(directory, GENERATION_LINK) : directory);
    before = await contentsOf(folder);
  } catch (reason) {
    // A generation that was taken away while it was looked for has another one in its place.
    return [{ status: "rejected", reason }, isLinked];
  }
  const [reading] = await Promise.allSettled([read(folder, before.names)]);
  const after = await contentsOf(folder).catch(() => undefined);
  if (after?.mark !== before.mark || reading.status === "fulfilled")
    return [reading, after?.mark !== before.mark];
  // It may have been taken away in part before it was looked at.
  const present = await realpath(isLinked ? join(directory, GENERATION_LINK) : directory).catch(
    () => undefined,
  );
  return [reading, present !== folder];
}

async function contentsOf(folder: string): Promise<Contents> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith(".")).sort();
  if (names.length > MOST_FILES) throw new FileProblem(`holds more than ${MOST_FILES} files`);
  const marks = await Promise.all(["", ...names].map((name) => markOf(join(folder, name))));
  return { names, mark: marks.join("\n") };
}

async function hasLink(directory: string): Promise<boolean> {
  try {
    return (await lstat(join(directory, GENERATION_LINK))).isSymbolicLink();
  } catch {
    return false;
  }
}

/** A link that leads nowhere is of no account until it is read. */
async function markOf(path: string): Promise<string> {
  try {
    const { ino, mtimeNs, ctimeNs, size } = await stat(path, { bigint: true });
    return [path, ino, mtimeNs, ctimeNs, size].join(" ");
  } catch {
    return `${path} gone`;
  }
}
