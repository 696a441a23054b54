import { type Clock, systemClock } from "../../shared/clock.ts";

/**
 * A clock on which a real millisecond is `factor` milliseconds, so that a test waits out minutes while real
 * servers answer in their own time.
 */
export function scaledClock(factor: number): Clock {
  const startMs = Date.now();
  const startMonotonicMs = performance.now();
  const elapsedMs = () => (performance.now() - startMonotonicMs) * factor;
  return {
    now: () => startMs + elapsedMs(),
    monotonicMs: elapsedMs,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}
