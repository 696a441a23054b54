import { lstat, open, rename, rm } from "node:fs/promises";

/** Replaces a file atomically; only its owner can read it. Returns what went wrong. */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<string | undefined> {
  const part = partOf(path);
  try {
    await createAnew(part, content);
    await rename(part, path);
    return undefined;
  } catch (thrown) {
    await rm(part, { force: true }).catch(() => undefined);
    return (thrown as Error).message;
  }
}

/** Tries out, as far as that goes, whether `replaceFile` will succeed. Returns what is wrong. */
export async function probeReplace(path: string): Promise<string | undefined> {
  const part = partOf(path);
  try {
    await createAnew(part, "");
    await rm(part);
    const held = await lstat(path).catch(() => undefined);
    return held?.isDirectory() ? "it is a folder" : undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

function partOf(path: string): string {
  return `${path}.part`;
}

/** The file in the way is a remainder, or another user's link to another file. */
async function createAnew(path: string, content: string | Uint8Array): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}
