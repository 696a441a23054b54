import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a folder and its missing parents. Does nothing if it exists; rejects with a system error that names the path. In
 * Node 24, `mkdir` with `recursive` never ends below an existing folder that answers ENOENT, such as /proc, a folder of an
 * automounter or a link without a target, and reports ENOENT for a read-only disk.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
    if (code === "EEXIST" && (await isFolder(path))) return;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || (await isFolder(parent))) throw thrown;
    await makeFolder(parent, mode);
    await makeFolder(path, mode);
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
