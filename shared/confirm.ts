import { createInterface } from "node:readline/promises";

/** Asks on the terminal; anything but yes is no. Rejects when the signal aborts. */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  // Not a readline terminal: Ctrl+C stays a signal.
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
