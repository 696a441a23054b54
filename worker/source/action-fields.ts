/** An answer that is not a valid action; the message says why. */
export class MalformedAction extends Error {
  override readonly name = "MalformedAction";
}

/** The longest a Node timer can wait, about 24 days; a longer one would fire at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export function required(field: string, value: string): string {
  if (value === "") throw new MalformedAction(`the action has no ${field}`);
  return value;
}

export function timeoutMsOf(seconds: bigint): number {
  if (seconds < 0n) throw new MalformedAction(`the action's timeout is negative: ${seconds} s`);
  return Math.min(Number(seconds) * 1_000, LONGEST_TIMEOUT_MS);
}

export function environmentOf(entries: readonly string[]): Record<string, string> {
  const pairs = entries.map((entry) => {
    const equals = entry.indexOf("=");
    // The message does not quote the entry, which may be a secret.
    if (equals < 1) throw new MalformedAction("an environment entry of the action is not KEY=value");
    return [entry.slice(0, equals), entry.slice(equals + 1)] as const;
  });
  return Object.fromEntries(pairs);
}
