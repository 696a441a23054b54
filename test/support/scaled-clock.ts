import { type Clock, systemClock } from "../../shared/clock.ts";

const TICK_MS = 5;
/** More between two ticks means that the processor was busy with other programs: the servers in this process stood still, too. */
const LONGEST_TICK_MS = 2 * TICK_MS;

/** How long this process has run, without the time that it had no processor. */
class RunningTime {
  #ranMs = 0;
  #tickedMs = performance.now();

  constructor() {
    setInterval(() => {
      this.#ranMs = this.ms();
      this.#tickedMs = performance.now();
    }, TICK_MS).unref();
  }

  ms(): number {
    return this.#ranMs + Math.min(performance.now() - this.#tickedMs, LONGEST_TICK_MS);
  }
}

let running: RunningTime | undefined;

/**
 * A clock on which a millisecond of this process is `factor` milliseconds, so that a test waits out minutes while real
 * servers answer in their own time, on a busy machine too.
 */
export function scaledClock(factor: number): Clock {
  running ??= new RunningTime();
  const time = running;
  const startMs = Date.now();
  const startRanMs = time.ms();
  const elapsedMs = () => (time.ms() - startRanMs) * factor;
  return {
    now: () => startMs + elapsedMs(),
    monotonicMs: elapsedMs,
    async sleep(ms, signal) {
      const endMs = elapsedMs() + ms;
      do await systemClock.sleep(Math.max(0, (endMs - elapsedMs()) / factor), signal);
      while (elapsedMs() < endMs);
    },
  };
}
