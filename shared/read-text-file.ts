import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { INPUT_BYTES } from "./input-limits.ts";

/** Reads a whole text file. Throws a `FileProblem` or a system error. */
export type ReadTextFile = (path: string) => string;

/** The error for a file that exists but is invalid. The message follows the path in a sentence. */
export class FileProblem extends Error {
  override readonly name = "FileProblem";
}

/** An inventory of ten thousand machines is about 3 MB. */
const LARGEST_BYTES = INPUT_BYTES.configurationFile;

/** Reads a configuration file at start. Accepts regular files only, because a pipe or device could block. */
export const readTextFile: ReadTextFile = (path) => {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(descriptor);
    checkFile(stat, LARGEST_BYTES);
    return decodeText(readFileSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
};

/**
 * Reads a file that only the worker and its actions should have written. Follows no link and does not wait for a pipe.
 * Rejects with a `FileProblem` or a system error.
 */
export async function readOwnFile(path: string, largestBytes: number): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    checkFile(await file.stat(), largestBytes);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/** Throws a `FileProblem` unless it is a regular file of at most `largestBytes`. */
export function checkFile(
  stat: { isFile(): boolean; readonly size: number },
  largestBytes: number = LARGEST_BYTES,
): void {
  if (!stat.isFile()) throw new FileProblem("is not a file");
  if (stat.size > largestBytes) throw new FileProblem(`is larger than ${largestBytes} bytes`);
}

/** Throws a `FileProblem` if the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new FileProblem("is not UTF-8 text");
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "does not exist",
  EACCES: "cannot be read by this user (permission denied)",
  EPERM: "cannot be read by this user (permission denied)",
  EISDIR: "is not a file",
  ELOOP: "is a loop of links",
  ENAMETOOLONG: "has too long a name",
};

/**
 * Describes why a file could not be read, in words that follow its path in a sentence. Contains nothing of the file's
 * content.
 */
export function fileProblemOf(thrown: unknown): string {
  if (thrown instanceof FileProblem) return thrown.message;
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown error";
  return REASONS[code] ?? `cannot be read (${code})`;
}
