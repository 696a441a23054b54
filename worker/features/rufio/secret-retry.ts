/** A Secret is created seconds after its Machine, or never; watching Secrets would need the right to read all of them. */
const PAUSE_MS = 2_000;
/** Pause per waiting object, so that all of them together send at most 20 requests per second. */
const PER_OBJECT_MS = 50;

/** The pause before a Secret is requested again. */
export function secretRetryMs(waiting: number): number {
  return Math.max(PAUSE_MS, PER_OBJECT_MS * waiting);
}

/** Why a machine's Secrets cannot be read now; undefined if they can. Rejects with the signal's reason. */
export type MissingSecret = (machineName: string, signal: AbortSignal) => Promise<string | undefined>;
