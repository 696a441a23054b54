import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** The ending of files that were not finished; whoever finds one may remove it. */
export const PART = ".part";

/**
 * Replaces a file at once: whoever reads it finds the old or the new text, whenever this process dies. With
 * `durable` the same holds when the machine loses power. Rejects with a system error; the old file then stands.
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

/** Makes the names in a folder last, as POSIX asks for after a rename. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (thrown) {
    // Some file systems of networks cannot sync a folder, and say so in this way (fsync(2)).
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EINVAL")) throw thrown;
  } finally {
    await folder.close();
  }
}
