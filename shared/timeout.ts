import { type Clock, systemClock } from "./clock.ts";
import { raceAbort } from "./race-abort.ts";

/** The signal's reason when the time has expired. Callers translate it into their own error. */
export class TimeoutReached extends Error {
  override readonly name = "TimeoutReached";
  readonly afterMs: number;

  constructor(afterMs: number) {
    super(`no result within ${afterMs} ms`);
    this.afterMs = afterMs;
  }
}

/** Created once, because an abort without a reason creates an error with a stack each time. */
const SETTLED = new Error("the work has settled");

/**
 * Runs `work` with a signal that aborts when `signal` does, or with a `TimeoutReached` after `ms`. Rejects as soon as that
 * signal aborts, even if `work` is slow to notice.
 */
export async function withTimeout<T>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  signal.throwIfAborted();
  const bound = new AbortController();
  const timer = new AbortController();
  const onAbort = () => bound.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  clock.sleep(ms, timer.signal).then(
    () => bound.abort(new TimeoutReached(ms)),
    () => undefined,
  );
  try {
    return await raceAbort(work(bound.signal), bound.signal);
  } finally {
    timer.abort(SETTLED);
    signal.removeEventListener("abort", onAbort);
  }
}
