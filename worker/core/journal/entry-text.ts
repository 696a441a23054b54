import { createHash } from "node:crypto";
import { join } from "node:path";
import { FileProblem, readOwnFile } from "../../../shared/read-text-file.ts";
import type { DecodedEntry, EntryKind, Stored } from "./entry-kind.ts";

const ENTRY_VERSION = 1;
export const ENTRY_ENDING = ".json";
/** The largest file to read. A step is about a kilobyte, so a worker never writes a larger file. */
export const LARGEST_ENTRY_BYTES = 64 * 1024;
const KEY_NAME = /^([0-9a-f]{32})\.json$/;

/** The key in the name of an entry's file; undefined for other names. */
export function keyOfName(name: string): string | undefined {
  return KEY_NAME.exec(name)?.[1];
}

/** Reads the entry in a file. Never rejects, whatever kind of file it is. */
export async function readEntry<Entry extends Stored>(
  directory: string,
  name: string,
  kind: EntryKind<Entry>,
): Promise<DecodedEntry<Entry>> {
  try {
    return decodeEntry(await readOwnFile(join(directory, name), LARGEST_ENTRY_BYTES), kind);
  } catch (thrown) {
    if (thrown instanceof FileProblem) return { ok: false, problem: thrown.message };
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
    return { ok: false, problem: `cannot be read (${code})` };
  }
}

/** Formats a step as a line of JSON with a version and a checksum. */
export function encodeEntry(entry: Stored): string {
  const content = { version: ENTRY_VERSION, ...entry };
  return `${JSON.stringify({ ...content, checksum: checksumOf(content) })}\n`;
}

/**
 * Reads the last complete step of a file. A step is written before it is executed, so an incomplete one was not executed. But
 * a file that was truncated later looks the same, so after a guarded step it is uncertain whether another one followed.
 */
export function decodeEntry<Entry extends Stored>(text: string, kind: EntryKind<Entry>): DecodedEntry<Entry> {
  const end = text.lastIndexOf("\n");
  if (end < 0) return decodeStep(text, kind);
  const last = decodeStep(text.slice(text.lastIndexOf("\n", end - 1) + 1, end), kind);
  const isCut = end < text.length - 1;
  if (!isCut || !last.ok || !kind.ruleOf(last.entry).isGuarded) return last;
  return { ...last, doubt: "ends within its second step" };
}

function decodeStep<Entry>(text: string, { parse }: EntryKind<Entry>): DecodedEntry<Entry> {
  const value = jsonObjectOf(text);
  if (value === undefined) return { ok: false, problem: "is not JSON" };
  const { checksum, ...content } = value;
  const { version, ...entry } = content;
  if (version !== ENTRY_VERSION) {
    const other = `has version ${version}: this worker reads version ${ENTRY_VERSION}`;
    return { ok: false, problem: typeof version === "number" ? other : "has no known version" };
  }
  if (checksum !== checksumOf(content)) return { ok: false, problem: "does not match its checksum" };
  return parse(entry);
}

/** Computes a checksum, which detects damage but not forgery. */
function checksumOf(content: object): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 16);
}

/** Parses a JSON object; undefined for other text. */
export function jsonObjectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
