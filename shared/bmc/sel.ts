import { BmcError } from "./errors.ts";
import type { SelEntry } from "./provider.ts";

export interface SelReport {
  readonly changed: boolean;
  readonly summary: string;
}

/** The system event log with retries in place; what `clearSel` needs and no more. */
export interface SelPort {
  list(): Promise<readonly SelEntry[]>;
  clear(): Promise<void>;
  sleep(ms: number): Promise<void>;
}

const READ_BACK_DELAYS_MS = [0, 1_000, 4_000] as const;

/** Clears the log and sees that no entry of before is left; many BMCs log the clearing itself. */
export async function clearSel(port: SelPort): Promise<SelReport> {
  const before = await port.list();
  if (before.length === 0) return { changed: false, summary: "event log already empty" };
  await port.clear();
  const known = new Set(before.map(identity));
  for (const delayMs of READ_BACK_DELAYS_MS) {
    if (delayMs > 0) await port.sleep(delayMs);
    const left = await port.list();
    if (!left.some((entry) => known.has(identity(entry)))) {
      return { changed: true, summary: `event log cleared of ${before.length} entries` };
    }
  }
  throw new BmcError(
    "verify",
    "the BMC accepted the clearing of its event log and still has earlier entries",
  );
}

/** IDs are given anew after a clearing, so an entry is what it says and when. */
function identity({ at, message }: SelEntry): string {
  return `${at ?? ""} ${message}`;
}
