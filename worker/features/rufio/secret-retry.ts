/**
 * The shortest pause between requests for a missing Secret. Secrets are polled, because watching them would need the right to
 * read all of them.
 */
const PAUSE_MS = 2_000;
/** The pause per waiting object, so that all objects together send at most 20 requests per second. */
const PER_OBJECT_MS = 50;

/** The pause before the next request for a missing Secret, if so many objects wait for one. */
export function secretRetryMs(waiting: number): number {
  return Math.max(PAUSE_MS, PER_OBJECT_MS * waiting);
}

/** Resolves to why a machine's Secrets cannot be read now; undefined if they can. Rejects with the signal's reason. */
export type MissingSecret = (machineName: string, signal: AbortSignal) => Promise<string | undefined>;
