import { printableLines } from "../../../shared/printable.ts";

/**
 * Writes text to stdout or stderr, safe for a terminal, and resolves when it has left. A reader that has gone away is
 * no reason to fail:
 * the exit code still has the result.
 */
export function writeText(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    // It stays: a broken pipe is reported after the callback, too.
    stream.on("error", () => resolve());
    stream.write(printableLines(text), () => resolve());
  });
}
