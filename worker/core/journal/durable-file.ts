import { constants } from "node:fs";
import { open, rename, rm } from "node:fs/promises";

/** The suffix of unfinished files, which are safe to remove. */
export const PART = ".part";
/** The unit of `Stats.blocks` (stat(2)). */
const BLOCK_BYTES = 512;

/**
 * Replaces a file atomically: the file has either the old or the new text, even if this process dies, and with `folder`, even
 * if the host loses power. Rejects with a system error; the old file then remains.
 */
export async function replaceTextFile(path: string, text: string, folder?: SyncedFolder): Promise<void> {
  const part = `${path}${PART}`;
  try {
    const file = await open(part, "w", 0o600);
    try {
      await file.writeFile(text);
      if (folder) await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } catch (thrown) {
    await rm(part, { force: true }).catch(() => undefined);
    throw thrown;
  }
  await folder?.sync();
}

/**
 * Appends to a file with the given length in bytes. Rejects with a system error, or if only a part of the text was written. The
 * file then has the old text, unless truncating it fails as well.
 */
export async function appendText(
  path: string,
  text: string,
  { length, sync }: { readonly length: number; readonly sync: boolean },
): Promise<void> {
  // Append, so that a worker that has lost the directory to another one does not overwrite the other's lines.
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND);
  try {
    const { bytesWritten } = await file.write(text);
    if (bytesWritten < Buffer.byteLength(text)) throw new Error(`${path} was written in part`);
    if (sync) await file.sync();
  } catch (thrown) {
    await file.truncate(length).catch(() => undefined);
    throw thrown;
  } finally {
    await file.close();
  }
}

/**
 * Overwrites a file within its allocated blocks, which works on a full disk. Not atomic: if this process dies meanwhile, the
 * file may be damaged. Rejects without a change if the text needs more space. Syncs `folder` at the end.
 */
export async function overwriteTextFile(path: string, text: string, folder?: SyncedFolder): Promise<void> {
  const file = await open(path, "r+");
  try {
    const bytes = Buffer.byteLength(text);
    if (bytes > (await file.stat()).blocks * BLOCK_BYTES) throw new Error(`${path} has no room for it`);
    await file.writeFile(text);
    await file.truncate(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  // An earlier write may have failed at the sync after its rename.
  await folder?.sync();
}

/** Makes renames in a folder durable: POSIX requires a sync of the folder itself. */
export class SyncedFolder {
  readonly #path: string;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Syncs the folder. Callers that arrive while a sync runs share the next one. */
  sync(): Promise<void> {
    this.#next ??= this.#afterRunning();
    return this.#next;
  }

  async #afterRunning(): Promise<void> {
    await this.#running?.catch(() => undefined);
    this.#next = undefined;
    this.#running = syncFolder(this.#path);
    await this.#running;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (thrown) {
    // Network file systems that cannot sync a folder report EINVAL (fsync(2)).
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EINVAL")) throw thrown;
  } finally {
    await folder.close();
  }
}
