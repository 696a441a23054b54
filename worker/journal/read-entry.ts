import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { JournalEntry } from "./entry.ts";

export const ENTRY_ENDING = ".json";
/** An entry is about a kilobyte; what is larger was not written by a worker. */
export const LARGEST_ENTRY_BYTES = 64 * 1024;

export type ReadEntry =
  | { readonly ok: true; readonly entry: JournalEntry }
  | { readonly ok: false; readonly problem: string };

/** Reads one file of a journal, whatever it is. Never rejects. */
export async function readEntry(directory: string, name: string): Promise<ReadEntry> {
  const path = join(directory, name);
  let text: string;
  try {
    const found = await lstat(path);
    // Reading a pipe would wait for ever.
    if (!found.isFile()) return { ok: false, problem: "is no file" };
    if (found.size > LARGEST_ENTRY_BYTES)
      return { ok: false, problem: `is larger than ${LARGEST_ENTRY_BYTES} bytes` };
    text = await readFile(path, "utf8");
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
    return { ok: false, problem: `cannot be read (${code})` };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: "is not JSON" };
  }
  const parsed = JournalEntry.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { ok: false, problem: `${issue?.path.join(".") || "it"}: ${issue?.message}` };
  }
  if (name !== `${parsed.data.key}${ENTRY_ENDING}`)
    return { ok: false, problem: "holds another action's key" };
  return { ok: true, entry: parsed.data };
}
