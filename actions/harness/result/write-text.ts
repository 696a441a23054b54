import { printableLines } from "../../../shared/printable.ts";

/** stdout or stderr. */
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean };

/**
 * Writes text that is safe for a terminal, and resolves when it is written. A closed pipe is not an error, because the exit
 * code is enough.
 */
export function writeText(stream: Output, text: string): Promise<void> {
  // The listener stays, because a broken pipe is reported after the callback too.
  if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
  return new Promise((resolve) => {
    stream.write(printableLines(text), () => resolve());
  });
}

function ignore(): void {
  // The callback of the write reports it too.
}
