import { createInterface } from "node:readline/promises";

/** Asks a question on the terminal. Anything but yes means no. Rejects when the signal aborts. */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  // A readline terminal is not used, because Ctrl+C must remain a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  lines.once("close", () => resolve(""));
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
