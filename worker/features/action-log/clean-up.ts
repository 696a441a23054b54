import { lstat, opendir, readdir, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "../../../shared/make-folder.ts";
import { FOLDER_MODE } from "./bounded-file.ts";
import { isFileName, isFolderName } from "./names.ts";

export interface CleanUpOptions {
  readonly directory: string;
  readonly maxAgeMs: number;
  /** Limit for the total size of all files. */
  readonly maxBytes: number;
  readonly nowMs: number;
  /** Files that are being written are not removed. */
  readonly isOpen: (path: string) => boolean;
  readonly signal: AbortSignal;
}

export interface CleanedUp {
  /** Number of removed files. */
  readonly removed: number;
  /** Total size of the remaining files. */
  readonly bytes: number;
}

interface Found {
  readonly path: string;
  readonly modifiedMs: number;
  readonly bytes: number;
}

/** The common block size of file systems. */
export const BLOCK_BYTES = 4_096;

/**
 * Removes logs that are too old, then the oldest others until the rest fits, and folders that are empty afterwards. Only
 * removes regular files with matching names in folders with matching names; follows no links. Rejects if the directory cannot be read.
 */
export async function cleanUp(options: CleanUpOptions): Promise<CleanedUp> {
  const { directory, maxAgeMs, maxBytes, nowMs, isOpen, signal } = options;
  await makeFolder(directory, FOLDER_MODE);
  const found: Found[] = [];
  for await (const entry of await opendir(directory)) {
    if (signal.aborted) return { removed: 0, bytes: 0 };
    if (!entry.isDirectory() || !isFolderName(entry.name)) continue;
    for (const file of await logsIn(join(directory, entry.name))) found.push(file);
  }
  found.sort((one, other) => one.modifiedMs - other.modifiedMs);
  let bytes = found.reduce((sum, file) => sum + file.bytes, 0);
  const emptied = new Set<string>();
  let removed = 0;
  for (const file of found) {
    if (signal.aborted || (bytes <= maxBytes && nowMs - file.modifiedMs <= maxAgeMs)) break;
    if (isOpen(file.path) || !(await succeeds(unlink(file.path)))) continue;
    bytes -= file.bytes;
    emptied.add(dirname(file.path));
    removed += 1;
  }
  // A folder with files stays; a file that is created now creates its folder again.
  for (const folder of emptied) await succeeds(rmdir(folder));
  return { removed, bytes };
}

/** The logs in a folder. Returns none for a folder that was removed or cannot be read. */
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

async function succeeds(removal: Promise<void>): Promise<boolean> {
  return removal.then(
    () => true,
    () => false,
  );
}
