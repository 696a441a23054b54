import { constants } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder } from "../../../shared/make-folder.ts";
import { noteText } from "./text.ts";

export const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
const MAX_ATTEMPTS = 3;

/** The flags follow no links and do not block on a pipe. Windows has neither. */
const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDWR, O_WRONLY } = constants;

/**
 * Appends text, which must be shorter than `maxBytes`, to a file of at most `maxBytes`. When the file would exceed that, the
 * first and last quarter stay, and a line between them says how many lines were removed. The file is open only during
 * the call. A new file starts with `header`.
 */
export async function appendBounded(
  path: string,
  { text, header, maxBytes }: { readonly text: string; readonly header: string; readonly maxBytes: number },
): Promise<void> {
  const { file, size } = await openToAppend(path);
  try {
    const bytes = Buffer.from(size === 0 ? header + text : text);
    if (size > 0 && size + bytes.length > maxBytes) await removeMiddle(path, size, Math.floor(maxBytes / 4));
    await file.appendFile(bytes);
  } finally {
    await file.close();
  }
}

async function openToAppend(path: string): Promise<{ readonly file: FileHandle; readonly size: number }> {
  const file = await openInFolder(path, dirname(path));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error(`${path} is not a regular file`);
    return { file, size: stats.size };
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
}

/** A concurrent cleanup may remove the empty folder. */
async function openInFolder(path: string, folder: string): Promise<FileHandle> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      // A link instead of the folder would lead elsewhere.
      if (!(await lstat(folder)).isDirectory()) throw new Error(`${folder} is not a folder`);
      return await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
    } catch (thrown) {
      if (attempt > MAX_ATTEMPTS || !isMissing(thrown)) throw thrown;
      await makeFolder(folder, FOLDER_MODE);
    }
  }
}

/** Works in place, so that programs that follow the file continue to read it. */
async function removeMiddle(path: string, size: number, keepBytes: number): Promise<void> {
  // A file that is open for appending cannot be written elsewhere.
  const file = await open(path, O_RDWR | O_NOFOLLOW);
  try {
    const headEnd = await lineEndAfter(file, keepBytes, size);
    const tailStart = await lineEndAfter(file, size - keepBytes, size);
    if (tailStart <= headEnd) return;
    const removed = await countRemoved(file, headEnd, tailStart);
    const tail = Buffer.alloc(size - tailStart);
    const { bytesRead } = await file.read(tail, 0, tail.length, tailStart);
    const rest = Buffer.concat([Buffer.from(removedNote(removed)), tail.subarray(0, bytesRead)]);
    await writeAll(file, rest, headEnd);
    await file.truncate(headEnd + rest.length);
  } finally {
    await file.close();
  }
}

/** The note that replaces removed lines. */
const REMOVED_NOTE = /^# (\d+) lines (?:left out|removed) here/;

function removedNote(lines: number): string {
  return noteText(`${lines} lines removed here: the log exceeded its size limit`);
}

/** The number of lines in a range, including those that an earlier note counts. */
async function countRemoved(file: FileHandle, from: number, to: number): Promise<number> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let lines = 0;
  for (let at = from; at < to; ) {
    const { bytesRead } = await file.read(chunk, 0, Math.min(CHUNK_BYTES, to - at), at);
    if (bytesRead === 0) break;
    const read = chunk.subarray(0, bytesRead);
    if (at === from) {
      const told = REMOVED_NOTE.exec(read.toString("latin1", 0, 100))?.[1];
      if (told !== undefined) lines += Number(told) - 1;
    }
    for (const byte of read) if (byte === NEWLINE) lines += 1;
    at += bytesRead;
  }
  return lines;
}

/** The end of the line at `at` with its line feed, or the end of the file. */
async function lineEndAfter(file: FileHandle, at: number, size: number): Promise<number> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let from = at; from < size; ) {
    const { bytesRead } = await file.read(chunk, 0, Math.min(CHUNK_BYTES, size - from), from);
    if (bytesRead === 0) break;
    const end = chunk.subarray(0, bytesRead).indexOf(NEWLINE);
    if (end >= 0) return from + end + 1;
    from += bytesRead;
  }
  return size;
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
}
