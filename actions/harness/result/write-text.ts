import { printableLines } from "../../../shared/printable.ts";

/** stdout or stderr. */
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean };

/**
 * Writes text, safe for a terminal, and resolves once it is written. A reader that has closed its end is not an error:
 * the exit code is enough.
 */
export function writeText(stream: Output, text: string): Promise<void> {
  // It stays: a broken pipe is reported after the callback, too.
  if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
  return new Promise((resolve) => {
    stream.write(printableLines(text), () => resolve());
  });
}

function ignore(): void {
  // The callback of the write says it, too.
}
