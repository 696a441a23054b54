import { printableLines } from "../../../shared/printable.ts";

/** stdout or stderr. */
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean };

/**
 * Writes text, safe for a terminal, and resolves once it is written. A reader that has closed its end is not an error:
 * the exit code is enough.
 */
export function writeText(stream: Output, text: string): Promise<void> {
  return new Promise((resolve) => {
    // Keep the listener: a broken pipe is reported after the callback, too.
    stream.on("error", () => resolve());
    stream.write(printableLines(text), () => resolve());
  });
}
