import { randomBytes } from "node:crypto";
import { type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";
import { readTextFile } from "../../shared/read-text-file.ts";
import { textOf } from "../../shared/text-of.ts";

const PERMISSIONS = 0o7777;

/**
 * Replaces the text of a file that others may read at the same time. Mode, owner and a link to the file stay. Returns the
 * reason if that fails; then the file is unchanged. `before` is what the file must still contain.
 */
export async function rewriteFile(
  path: string,
  before: string,
  after: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  let part: string | undefined;
  try {
    const target = await realpath(path);
    part = `${target}.${randomBytes(6).toString("hex")}.part`;
    await writePart(part, target, after);
    signal.throwIfAborted();
    if (readTextFile(target) !== before) return "it changed meanwhile";
    await rename(part, target);
    return undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    return textOf(thrown);
  } finally {
    if (part !== undefined) await rm(part, { force: true }).catch(() => undefined);
  }
}

async function writePart(part: string, target: string, text: string): Promise<void> {
  const { mode, uid, gid } = await stat(target);
  const file = await open(part, "wx", 0o600);
  try {
    await file.writeFile(text);
    await keepOwner(file, uid, gid);
    // After the change of owner, which clears mode bits; `chmod` is not subject to the umask.
    await file.chmod(mode & PERMISSIONS);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function keepOwner(file: FileHandle, uid: number, gid: number): Promise<void> {
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
}
