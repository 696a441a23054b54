/** Thrown (as the signal's reason) when a bounded wait ran out; callers translate it into their own error. */
export class TimeoutReached extends Error {
  override readonly name = "TimeoutReached";
  readonly afterMs: number;

  constructor(afterMs: number) {
    super(`no result within ${afterMs} ms`);
    this.afterMs = afterMs;
  }
}

/**
 * Runs `work` with a signal that aborts when `signal` does, or with a `TimeoutReached` after `ms`.
 * The wait itself ends with the signal, even where `work` is slow to notice.
 */
export async function withTimeout<T>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => controller.abort(new TimeoutReached(ms)), ms);
  const ended = new Promise<never>((_, reject) => {
    controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true });
  });
  ended.catch(() => undefined);
  try {
    return await Promise.race([work(controller.signal), ended]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
