import { constants, type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { type DecodedEntry, decodeEntry } from "./entry-text.ts";

export const ENTRY_ENDING = ".json";
/** An entry is about a kilobyte; what is larger was not written by a worker. */
export const LARGEST_ENTRY_BYTES = 64 * 1024;

const KEY_NAME = /^([0-9a-f]{32})\.json$/;

/** The `actionKey` in the name of an entry's file; undefined where it is not the name of one. */
export function keyOfName(name: string): string | undefined {
  return KEY_NAME.exec(name)?.[1];
}

/** Reads one file of a journal, whatever it is. Never rejects. */
export async function readEntry(directory: string, name: string): Promise<DecodedEntry> {
  let file: FileHandle | undefined;
  try {
    // A link is not followed, and a pipe that has no writer not waited for.
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    file = await open(join(directory, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) return { ok: false, problem: "is not a regular file" };
    if (found.size > LARGEST_ENTRY_BYTES)
      return { ok: false, problem: `is larger than ${LARGEST_ENTRY_BYTES} bytes` };
    return decodeEntry(await file.readFile("utf8"));
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
    return { ok: false, problem: `cannot be read (${code})` };
  } finally {
    await file?.close().catch(() => undefined);
  }
}
