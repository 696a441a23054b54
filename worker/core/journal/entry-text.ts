import { createHash } from "node:crypto";
import { z } from "zod";
import { actionKey } from "../action/action.ts";
import { JournalEntry, type JournalPhase } from "./entry.ts";

/** Version 1 had no checksum, and both earlier ones were one indented object in the whole file. */
const ENTRY_VERSION = 4;
/** The version before knew all phases but two: an earlier worker can read the entries of the others. */
const EARLIER_VERSION = 3;
const NEWER_PHASES: ReadonlySet<string> = new Set(["rejected", "dropped"] satisfies JournalPhase[]);
const WITHOUT_CHECKSUM = 1;
const KnownVersion = z.int().min(WITHOUT_CHECKSUM).max(ENTRY_VERSION);

export type DecodedEntry =
  /** `doubt` is a problem, too: what followed the entry is lost. */
  | { readonly ok: true; readonly entry: JournalEntry; readonly doubt?: string }
  /** In a sentence, `problem` follows the name of the file. */
  | { readonly ok: false; readonly problem: string };

/** A line of JSON with a version and a checksum of everything. */
export function encodeEntry(entry: JournalEntry): string {
  const content = { version: NEWER_PHASES.has(entry.phase) ? ENTRY_VERSION : EARLIER_VERSION, ...entry };
  return `${JSON.stringify({ ...content, checksum: checksumOf(content) })}\n`;
}

/**
 * Reads the last complete step of a file, or the whole file of an earlier version. A step is written before it is taken; but a file
 * that was cut off later looks the same, so that it is in doubt whether an action was launched.
 */
export function decodeEntry(text: string): DecodedEntry {
  const end = text.lastIndexOf("\n");
  if (end < 0 || text.startsWith("{\n")) return decodeStep(text);
  const last = decodeStep(text.slice(text.lastIndexOf("\n", end - 1) + 1, end));
  const isCut = end < text.length - 1;
  const isInDoubt = isCut && last.ok && last.entry.phase === "launching";
  return isInDoubt ? { ...last, doubt: "ends within the step after launching" } : last;
}

function decodeStep(text: string): DecodedEntry {
  const value = jsonObjectOf(text);
  if (value === undefined) return { ok: false, problem: "is not JSON" };
  const { version, ...content } = value;
  const known = KnownVersion.safeParse(version);
  if (!known.success) {
    const isNewer = typeof version === "number" && version > ENTRY_VERSION;
    const newer = `has version ${version}: this worker reads up to ${ENTRY_VERSION}`;
    return { ok: false, problem: isNewer ? newer : "has no known version" };
  }
  const hasChecksum = known.data > WITHOUT_CHECKSUM;
  const { checksum, ...about } = content;
  if (hasChecksum && checksum !== checksumOf({ version, ...about })) {
    return { ok: false, problem: "does not match its checksum" };
  }
  const parsed = JournalEntry.safeParse(hasChecksum ? about : content);
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
