import { constants } from "node:fs";
import { access, lstat, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Secret } from "../../../shared/secret.ts";

/** The end of a complete candidate. Without it the write was interrupted, before the password was sent to a BMC. */
const END = "\n";
const WRITABLE_BY_OTHERS = 0o022;
/** Errors of filesystems that cannot or may not sync a folder. */
const UNSYNCABLE = new Set(["EACCES", "EINVAL", "EISDIR", "ENOTSUP", "EPERM"]);

/** Returns the file that holds the new password until the BMC accepts it. */
export function candidateOf(file: string): string {
  return `${file}.new`;
}

/** Rejects if `file` could not be replaced by a rename. Writes nothing. */
export async function checkPlace(file: string): Promise<void> {
  const folder = dirname(file);
  await access(`${folder}/.`, constants.W_OK | constants.X_OK);
  const there = await statOf(file);
  if (!there) return;
  if (there.isSymbolicLink()) throw new Error(`${file} is a symbolic link, which is not followed`);
  if (!there.isFile()) throw new Error(`${file} exists and is not a file`);
  const { dev } = await stat(folder, { bigint: true });
  // In a container the file, and not its folder, may be a volume: a file next to it would be lost with the container.
  if (there.dev !== dev) throw new Error(`${file} is a separate mount: mount its folder instead`);
}

/**
 * Reads the candidate of an earlier run. Resolves to undefined if there is none or it is incomplete. Rejects if another user
 * may have written it and therefore knows the password.
 */
export async function readCandidate(path: string): Promise<Secret | undefined> {
  const there = await statOf(path);
  if (!there) return undefined;
  if (!there.isFile()) throw new Error(`${path} exists and is not a file`);
  // The file may have been replaced since `lstat`, so the check uses the opened file.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { uid, mode } = await file.stat();
    if (uid !== process.geteuid?.() || (mode & WRITABLE_BY_OTHERS) > 0) {
      throw new Error(`${path} exists, and other users may have written to it`);
    }
    const text = await file.readFile("utf8");
    return text.length > END.length && text.endsWith(END)
      ? new Secret(text.slice(0, -END.length))
      : undefined;
  } finally {
    await file.close();
  }
}

/** Writes the candidate to a new file that only its owner may read, and syncs it. */
export async function writeCandidate(path: string, password: Secret): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(`${password.reveal()}${END}`);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncFolder(path);
}

/** Replaces the file with the candidate atomically, so that a reader finds the old password or the new one. */
export async function adoptCandidate(file: string): Promise<void> {
  await rename(candidateOf(file), file);
  await syncFolder(file);
}

export async function removeCandidate(path: string): Promise<void> {
  await rm(path, { force: true });
}

async function statOf(path: string) {
  try {
    return await lstat(path, { bigint: true });
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(dirname(path), "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (thrown) {
    if (!UNSYNCABLE.has(codeOf(thrown) ?? "")) throw thrown;
  }
}

function codeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" ? code : undefined;
}
