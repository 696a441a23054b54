import { readFileSync } from "node:fs";
import { InvalidArgumentError } from "commander";

/** Parses a number from a flag. */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("must be a whole number");
  return Number(text);
}

/** Reads a secret from a file, without the line break that editors add. Returns undefined if there is no file. */
export function secretIn(file: string | undefined): string | undefined {
  return file === undefined ? undefined : readFileSync(file, "utf8").replace(/\r?\n$/, "");
}

/** Prints a simulator's addresses as one line of JSON, runs it until it is interrupted, and closes it. */
export async function serve(facts: Record<string, unknown>, simulator: { close(): Promise<void> }) {
  process.stdout.write(`${JSON.stringify(facts)}\n`);
  await new Promise<void>((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
  await simulator.close();
}
