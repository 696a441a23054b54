import { join } from "node:path";
import { FileProblem, readOwnFile } from "../../../shared/read-text-file.ts";
import { type DecodedEntry, decodeEntry } from "./entry-text.ts";

export const ENTRY_ENDING = ".json";
/** A step is about a kilobyte; a larger file is not from a worker. */
export const LARGEST_ENTRY_BYTES = 64 * 1024;

const KEY_NAME = /^([0-9a-f]{32})\.json$/;

/** The `actionKey` in an entry's file name; undefined for other names. */
export function keyOfName(name: string): string | undefined {
  return KEY_NAME.exec(name)?.[1];
}

/** Never rejects, whatever kind of file it is. */
export async function readEntry(directory: string, name: string): Promise<DecodedEntry> {
  try {
    return decodeEntry(await readOwnFile(join(directory, name), LARGEST_ENTRY_BYTES));
  } catch (thrown) {
    if (thrown instanceof FileProblem) return { ok: false, problem: thrown.message };
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
    return { ok: false, problem: `cannot be read (${code})` };
  }
}
