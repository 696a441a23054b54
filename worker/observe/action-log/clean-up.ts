import { lstat, mkdir, opendir, readdir, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FOLDER_MODE } from "./bounded-file.ts";
import { isFileName, isFolderName } from "./names.ts";

export interface CleanUpOptions {
  readonly directory: string;
  readonly maxAgeMs: number;
  /** What all files together may take. */
  readonly mostBytes: number;
  readonly nowMs: number;
  /** Whether it is being written, and so stays. */
  readonly isOpen: (path: string) => boolean;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

interface Found {
  readonly path: string;
  readonly modifiedMs: number;
  readonly bytes: number;
}

/** File systems give out room in blocks of this, as good as all of them. */
export const BLOCK_BYTES = 4_096;

/**
 * Removes logs that are too old, and the oldest of the others until the rest has room, with folders that are empty then.
 * Only regular files with names of ours go, in folders with names of ours; links are not followed.
 * Resolves to how many files it removed. Rejects when the directory cannot be read.
 */
export async function cleanUp(options: CleanUpOptions): Promise<number> {
  const { directory, maxAgeMs, mostBytes, nowMs, isOpen, signal } = options;
  await mkdir(directory, { recursive: true, mode: FOLDER_MODE });
  const found: Found[] = [];
  for await (const entry of await opendir(directory)) {
    if (signal.aborted) return 0;
    if (!entry.isDirectory() || !isFolderName(entry.name)) continue;
    for (const file of await logsIn(join(directory, entry.name))) found.push(file);
  }
  found.sort((one, other) => one.modifiedMs - other.modifiedMs);
  let bytes = found.reduce((sum, file) => sum + file.bytes, 0);
  const emptied = new Set<string>();
  let removed = 0;
  for (const file of found) {
    if (signal.aborted || (bytes <= mostBytes && nowMs - file.modifiedMs <= maxAgeMs)) break;
    if (isOpen(file.path) || !(await isGone(unlink(file.path)))) continue;
    bytes -= file.bytes;
    emptied.add(dirname(file.path));
    removed += 1;
  }
  // One with anything in it stays, and a file that is about to be made there makes it again.
  for (const folder of emptied) await isGone(rmdir(folder));
  return removed;
}

/** Of a folder that was taken away meanwhile, or is nobody's to read, none. */
async function logsIn(folder: string): Promise<readonly Found[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: Found[] = [];
  for (const entry of entries) {
    if (!entry.isFile() || !isFileName(entry.name)) continue;
    const path = join(folder, entry.name);
    const stats = await lstat(path).catch(() => undefined);
    if (!stats) continue;
    const bytes = Math.ceil(stats.size / BLOCK_BYTES) * BLOCK_BYTES;
    found.push({ path, modifiedMs: stats.mtimeMs, bytes });
  }
  return found;
}

async function isGone(removal: Promise<void>): Promise<boolean> {
  return removal.then(
    () => true,
    () => false,
  );
}
