import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** The suffix of unfinished files, which may be removed. */
export const PART = ".part";

/**
 * Replaces a file atomically: it has the old or the new text whenever this process dies and, if `durable`, when the host loses
 * power. Rejects with a system error; the old file then remains.
 */
export async function replaceTextFile(path: string, text: string, durable: boolean): Promise<void> {
  const part = `${path}${PART}`;
  try {
    const file = await open(part, "w", 0o600);
    try {
      await file.writeFile(text);
      if (durable) await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } catch (thrown) {
    await rm(part, { force: true }).catch(() => undefined);
    throw thrown;
  }
  if (durable) await syncFolder(dirname(path));
}

/** Makes a rename durable, as POSIX requires. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (thrown) {
    // The error of network file systems that cannot sync a folder (fsync(2)).
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EINVAL")) throw thrown;
  } finally {
    await folder.close();
  }
}
