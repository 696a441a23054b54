import { createHash } from "node:crypto";
import { actionKey } from "../action/action.ts";
import { JournalEntry } from "./entry.ts";

/** Version 1 had no checksum. */
const ENTRY_VERSION = 2;

export type DecodedEntry =
  | { readonly ok: true; readonly entry: JournalEntry }
  /** In a sentence, `problem` follows the name of the file. */
  | { readonly ok: false; readonly problem: string };

/** Indented JSON with a version and a checksum of everything. */
export function encodeEntry(entry: JournalEntry): string {
  const content = { version: ENTRY_VERSION, ...entry };
  return `${JSON.stringify({ ...content, checksum: checksumOf(content) }, undefined, 2)}\n`;
}

/** Reads an entry of this version or an earlier one. */
export function decodeEntry(text: string): DecodedEntry {
  const value = jsonObjectOf(text);
  if (value === undefined) return { ok: false, problem: "is not JSON" };
  const { version, ...content } = value;
  if (version !== 1 && version !== ENTRY_VERSION) {
    const isNewer = typeof version === "number" && version > ENTRY_VERSION;
    const newer = `has version ${version}: this worker reads up to ${ENTRY_VERSION}`;
    return { ok: false, problem: isNewer ? newer : "has no known version" };
  }
  const { checksum, ...about } = content;
  if (version === ENTRY_VERSION && checksum !== checksumOf({ version, ...about })) {
    return { ok: false, problem: "does not match its checksum" };
  }
  const parsed = JournalEntry.safeParse(version === ENTRY_VERSION ? about : content);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { ok: false, problem: `is damaged: ${issue?.path.join(".") || "it"}: ${issue?.message}` };
  }
  if (parsed.data.key !== actionKey(parsed.data.action)) {
    return { ok: false, problem: "holds a key that is not its action's" };
  }
  return { ok: true, entry: parsed.data };
}

/** Detects damage, not forgery. */
function checksumOf(content: object): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 16);
}

/** Undefined for text that is not a JSON object. */
export function jsonObjectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
