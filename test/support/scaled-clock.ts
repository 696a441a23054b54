import { type Clock, systemClock } from "../../shared/clock.ts";

const TICK_MS = 5;
/** More between two ticks means that the processor was busy with other programs: the servers in this process stood still, too. */
const LONGEST_TICK_MS = 2 * TICK_MS;

/** Ticks cost processor time until the process ends, and it runs other test files after this one. */
const UNUSED_MS = 10_000;

/** How long this process has run, without the time that it had no processor. */
class RunningTime {
  #ranMs = 0;
  #tickedMs = performance.now();
  #usedMs = this.#tickedMs;
  #users = 0;
  #timer: NodeJS.Timeout | undefined;

  ms(): number {
    const nowMs = performance.now();
    this.#usedMs = nowMs;
    if (!this.#timer) {
      // Nothing looked at it meanwhile: all of that time counts.
      this.#ranMs += nowMs - this.#tickedMs;
      this.#tickedMs = nowMs;
      this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
    }
    return this.#ranAt(nowMs);
  }

  /** Ticks for as long as `work` runs. */
  async during(work: () => Promise<void>): Promise<void> {
    this.#users += 1;
    try {
      await work();
    } finally {
      this.#users -= 1;
    }
  }

  #tick(): void {
    const nowMs = performance.now();
    this.#ranMs = this.#ranAt(nowMs);
    this.#tickedMs = nowMs;
    if (this.#users > 0 || nowMs - this.#usedMs < UNUSED_MS) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #ranAt(nowMs: number): number {
    return this.#ranMs + Math.min(nowMs - this.#tickedMs, LONGEST_TICK_MS);
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
    sleep: (ms, signal) =>
      time.during(async () => {
        const endMs = elapsedMs() + ms;
        do await systemClock.sleep(Math.max(0, (endMs - elapsedMs()) / factor), signal);
        while (elapsedMs() < endMs);
      }),
  };
}
