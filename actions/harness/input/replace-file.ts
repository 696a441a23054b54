import { lstat, open, rename, rm } from "node:fs/promises";

/** Replaces a file atomically with one that only its owner can read. Returns why that failed. */
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

/** Checks, as far as possible, whether `replaceFile` would succeed. Returns why not. */
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

/** Creates a new file. An existing one is a leftover, or a link that another user made. */
async function createAnew(path: string, content: string | Uint8Array): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}
