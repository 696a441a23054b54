import { readFile, stat } from "node:fs/promises";
import { withTimeout } from "../../shared/timeout.ts";
import type { InputSources } from "./read-input.ts";

/** Far above any connection with its CA bundle. */
const LIMIT_BYTES = 1_048_576;
/** A worker writes the connection at once; a forgotten terminal must not hang the action. */
const STDIN_TIMEOUT_MS = 10_000;

type ConnectionText =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** Reads JSON from a file, or from stdin when the path is `-`. Problems never quote what was read. */
export async function readConnectionText(
  path: string,
  sources: Pick<InputSources, "stdin" | "signal">,
): Promise<ConnectionText> {
  const name = path === "-" ? "on stdin" : path;
  let text: string;
  try {
    text = path === "-" ? await readStdin(sources) : await readBounded(path);
  } catch (thrown) {
    const why = thrown instanceof Error && "code" in thrown ? String(thrown.code) : (thrown as Error).message;
    return { ok: false, problem: `${name} cannot be read (${why})` };
  }
  if (text.trim() === "") return { ok: false, problem: `${name} is empty` };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false, problem: `${name} is not JSON` };
  }
}

async function readBounded(path: string): Promise<string> {
  if ((await stat(path)).size > LIMIT_BYTES) throw new Error("too large");
  return readFile(path, "utf8");
}

async function readStdin({ stdin, signal }: Pick<InputSources, "stdin" | "signal">): Promise<string> {
  return withTimeout(STDIN_TIMEOUT_MS, signal, async () => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of stdin) {
      size += chunk.byteLength;
      if (size > LIMIT_BYTES) throw new Error("too large");
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("utf8");
  });
}
