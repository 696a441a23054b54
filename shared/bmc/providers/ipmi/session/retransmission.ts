import type { Clock } from "../../../../clock.ts";
import { TimeoutReached } from "../../../../timeout.ts";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 4_000;

/** The wait after copy number `copy` (from 0): 0.5 s, doubled each time up to 4 s. */
export function waitAfterCopyMs(copy: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** copy, LONGEST_WAIT_MS);
}

export interface Exchange<T> {
  /** Sends copy number `copy` (from 0). */
  readonly send: (copy: number) => void;
  readonly answer: Promise<T>;
  readonly limitMs: number;
  /** False to send one copy and wait for the whole limit. */
  readonly repeat: boolean;
}

/** Sends copies until an answer arrives. Rejects with `TimeoutReached` after the limit. */
export async function sendUntilAnswered<T>(
  { send, answer, limitMs, repeat }: Exchange<T>,
  clock: Clock,
  signal: AbortSignal,
): Promise<T> {
  const endMs = clock.monotonicMs() + limitMs;
  for (let copy = 0; ; copy += 1) {
    signal.throwIfAborted();
    send(copy);
    const leftMs = endMs - clock.monotonicMs();
    const waitMs = repeat ? Math.min(waitAfterCopyMs(copy), leftMs) : leftMs;
    const answered = await within(waitMs, answer, clock, signal);
    if (answered) return answered.value;
    if (waitMs === leftMs) throw new TimeoutReached(limitMs);
  }
}

async function within<T>(ms: number, answer: Promise<T>, clock: Clock, signal: AbortSignal) {
  const nap = new AbortController();
  const wake = () => nap.abort(signal.reason);
  signal.addEventListener("abort", wake, { once: true });
  try {
    return await Promise.race([
      answer.then((value) => ({ value })),
      clock.sleep(ms, nap.signal).then(() => undefined),
    ]);
  } finally {
    signal.removeEventListener("abort", wake);
    nap.abort();
  }
}
