import { constants, createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { GivenValue } from "../../../shared/contract/given.ts";
import { withoutLineEnd } from "../../../shared/contract/secret-doubt.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import type { InputField } from "./input.ts";

/** A limit far above the size of any connection with its CA bundle. */
const LIMIT_BYTES = 1_048_576;
/** A time limit, because a forgotten terminal must not block the action; a worker writes the connection at once. */
const LIMIT_MS = 10_000;
/** The time limit for a person who types. */
export const TYPING_MS = 60_000;

export interface TextSources {
  /** Opens stdin. Called only if it is read. */
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
  readonly limitMs?: number;
}

/** Names of stdin. A terminal that is opened as a file would show what is typed. */
const STDIN: ReadonlySet<string> = new Set(["-", "/dev/stdin", "/dev/fd/0"]);

/** Text, or a problem to append to the name of its source. A problem never quotes what was read. */
export type TextRead =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string };

/** Reads UTF-8 text from a file, or from stdin if the path is `-`, within a limited size and time. */
export async function readText(
  path: string,
  { stdin, signal, limitMs = LIMIT_MS }: TextSources,
): Promise<TextRead> {
  try {
    const text = await withTimeout(limitMs, signal, () =>
      collect(STDIN.has(path) ? stdin() : openFile(path)),
    );
    return text.trim() === "" ? { ok: false, problem: "is empty" } : { ok: true, text };
  } catch (thrown) {
    return { ok: false, problem: describeProblem(thrown, limitMs) };
  }
}

/** Opens a file without blocking reads: such a read of a pipe would occupy a thread for which Node waits at exit. */
function openFile(path: string): AsyncIterable<Uint8Array> {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return fstatSync(fd).isFIFO()
    ? new Socket({ fd, readable: true, writable: false })
    : createReadStream(path, { fd });
}

class TextProblem extends Error {}

async function collect(source: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    size += chunk.byteLength;
    if (size > LIMIT_BYTES) throw new TextProblem(`is larger than ${LIMIT_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new TextProblem("is not UTF-8 text");
  }
}

const REMEDY =
  "make it readable for that user, or start the container with --user and the ID of the file's owner";

function describeProblem(thrown: unknown, limitMs: number): string {
  if (thrown instanceof TextProblem) return thrown.message;
  if (thrown instanceof TimeoutReached) return `did not end within ${limitMs / 1_000} s`;
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown error";
  return code === "EACCES"
    ? `cannot be read by user ${process.getuid?.()}: ${REMEDY}`
    : `cannot be read (${code})`;
}

/**
 * Reads the text of a field: its value, or the content of the file that it names. Resolves to undefined and adds a problem
 * if that fails.
 */
export async function readValue(
  { fromFile, secret }: Pick<InputField, "fromFile" | "secret">,
  { text, from }: GivenValue,
  sources: TextSources,
  problems: string[],
): Promise<string | undefined> {
  if (!fromFile) return secret ? withoutLineEnd(text) : text;
  const read = await readText(text, sources);
  if (!read.ok) problems.push(`${from}: ${text} ${read.problem}`);
  return read.ok ? withoutLineEnd(read.text) : undefined;
}
