import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { FileProblem } from "../../shared/read-text-file.ts";

/** The link that Kubernetes' atomic writer swaps: it points to the current version. */
const GENERATION_LINK = "..data";
const MAX_FILES = 100;
/** After this number of attempts, the last reading counts. Each attempt takes a millisecond or two. */
const MAX_ATTEMPTS = 50;

interface Contents {
  readonly names: readonly string[];
  /** Changes whenever the folder changes. */
  readonly mark: string;
}

/**
 * Calls `read` with the folder behind `directory`, and again if that folder changed meanwhile: all values come from
 * one version, even if the directory or its target is swapped. Rejects with a `FileProblem` or a system error.
 */
export async function readFolder<T>(
  directory: string,
  read: (folder: string, names: readonly string[]) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const [reading, isChanged] = await readOnce(directory, read);
    if (isChanged && attempt < MAX_ATTEMPTS) continue;
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
    // Without links in the path, it stays the same folder during swaps.
    folder = await realpath(isLinked ? join(directory, GENERATION_LINK) : directory);
    before = await contentsOf(folder);
  } catch (reason) {
    // A version that was deleted meanwhile has a successor.
    return [{ status: "rejected", reason }, isLinked];
  }
  const [reading] = await Promise.allSettled([read(folder, before.names)]);
  const after = await contentsOf(folder).catch(() => undefined);
  if (after?.mark !== before.mark || reading.status === "fulfilled")
    return [reading, after?.mark !== before.mark];
  // The folder may have been partly deleted before it was read.
  const present = await realpath(isLinked ? join(directory, GENERATION_LINK) : directory).catch(
    () => undefined,
  );
  return [reading, present !== folder];
}

async function contentsOf(folder: string): Promise<Contents> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith(".")).sort();
  if (names.length > MAX_FILES) throw new FileProblem(`holds more than ${MAX_FILES} files`);
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

/** The mark of a directory. A dangling link matters only when it is read. */
async function markOf(path: string): Promise<string> {
  try {
    const { ino, mtimeNs, ctimeNs, size } = await stat(path, { bigint: true });
    return [path, ino, mtimeNs, ctimeNs, size].join(" ");
  } catch {
    return `${path} gone`;
  }
}
