import { BmcError } from "../../contract/bmc-error.ts";
import type { SelEntry } from "../provider.ts";

export interface SelReport {
  readonly changed: boolean;
  readonly summary: string;
}

/** The system event log with retries in place; what `clearSel` needs and no more. */
export interface SelPort {
  list(): Promise<readonly SelEntry[]>;
  /** Throws `unsupported` where the BMC is known not to offer it. */
  plan(): Promise<string>;
  clear(): Promise<void>;
  sleep(ms: number): Promise<void>;
}

const READ_BACK_DELAYS_MS = [0, 1_000, 4_000] as const;

/**
 * How makers word the entry that a clearing leaves behind: `event logging sensor 0xf0: log cleared`,
 * `The system event log was cleared`, `IML Cleared (iLO user: admin)`, `SEL cleared`.
 */
const CLEARING = /\b(log|sel|iml)\b.{0,40}\bcleared\b/i;

/** Clears the log and sees that no entry of before is left; many BMCs log the clearing itself. */
export async function clearSel(port: SelPort): Promise<SelReport> {
  const before = await port.list();
  if (isCleared(before)) return { changed: false, summary: `event log already ${describeCleared(before)}` };
  await port.clear();
  // An entry of an earlier clearing may equal the one of this clearing, where the BMC has no time.
  const known = new Set(before.filter((entry) => !isClearing(entry)).map(identity));
  let left = before;
  for (const delayMs of READ_BACK_DELAYS_MS) {
    if (delayMs > 0) await port.sleep(delayMs);
    const after = await port.list();
    left = known.size > 0 ? after.filter((entry) => known.has(identity(entry))) : after.slice(1);
    if (left.length === 0) {
      return { changed: true, summary: `event log cleared of ${countEntries(before.length)}` };
    }
  }
  const text = `the BMC accepted the clearing of its event log and still has ${left.length} of its ${countEntries(before.length)}`;
  throw new BmcError("verify", text);
}

/** What `clearSel` would do, for people; `before` is how many entries there are. */
export async function planClearSel(
  port: Pick<SelPort, "list" | "plan">,
): Promise<{ readonly before: number; readonly steps: readonly string[] }> {
  const before = await port.list();
  return { before: before.length, steps: isCleared(before) ? [] : [await port.plan()] };
}

/** For people: `1 entry`, `2 entries`. */
export function countEntries(count: number): string {
  return count === 1 ? "1 entry" : `${count} entries`;
}

/** Empty, or with nothing in it but that it was cleared. */
function isCleared(entries: readonly SelEntry[]): boolean {
  return entries.length === 0 || (entries.length === 1 && entries.every(isClearing));
}

function describeCleared(entries: readonly SelEntry[]): string {
  return entries.length === 0 ? "empty" : "cleared, which is its only entry";
}

function isClearing({ message }: SelEntry): boolean {
  return CLEARING.test(message);
}

/** IDs are given anew after a clearing, so an entry is what it says and when. */
function identity({ at, message }: SelEntry): string {
  return `${at ?? ""} ${message}`;
}
