import { constants } from "node:fs";
import { access, lstat, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Secret } from "../../../shared/secret.ts";

/** The end of a whole candidate: one without it was cut off while it was written, before it was used. */
const END = "\n";
const WRITABLE_BY_OTHERS = 0o022;
/** What filesystems answer that cannot, or may not, make a folder's entries durable. */
const UNSYNCABLE = new Set(["EACCES", "EINVAL", "EISDIR", "ENOTSUP", "EPERM"]);

/** Where the candidate for a password file waits until the BMC has taken it. */
export function candidateOf(file: string): string {
  return `${file}.new`;
}

/** Rejects where `file` could not be replaced by a rename. Writes nothing. */
export async function checkPlace(file: string): Promise<void> {
  const folder = dirname(file);
  await access(`${folder}/.`, constants.W_OK | constants.X_OK);
  const there = await statOf(file);
  if (!there) return;
  if (there.isSymbolicLink()) throw new Error(`${file} is a symbolic link, which is not followed`);
  if (!there.isFile()) throw new Error(`${file} is there and is not a file`);
  const { dev } = await stat(folder, { bigint: true });
  // As when a container has the file, not its folder, as a volume: what is beside it would go with the container.
  if (there.dev !== dev) throw new Error(`${file} is a separate mount: mount its folder instead`);
}

/**
 * The candidate that an earlier run left; undefined when there is none, or only the beginning of one. Rejects where
 * another user wrote the one that exists, and so would know the password.
 */
export async function readCandidate(path: string): Promise<Secret | undefined> {
  const there = await statOf(path);
  if (!there) return undefined;
  if (!there.isFile()) throw new Error(`${path} is there and is not a file`);
  // O_NOFOLLOW and the checks on what was opened, because it may have been exchanged since.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { uid, mode } = await file.stat();
    if (uid !== process.geteuid?.() || (mode & WRITABLE_BY_OTHERS) > 0) {
      throw new Error(`${path} is there, and other users may have written to it`);
    }
    const text = await file.readFile("utf8");
    return text.length > END.length && text.endsWith(END)
      ? new Secret(text.slice(0, -END.length))
      : undefined;
  } finally {
    await file.close();
  }
}

/** Writes the candidate so that it outlives a crash: a new file, which only its owner may read. */
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

/** Replaces the file with the candidate atomically: a reader finds the old password or the new one. */
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
