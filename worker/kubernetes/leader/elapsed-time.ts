import { readFileSync } from "node:fs";
import type { Clock } from "../../../shared/clock.ts";

export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
  readonly upMs: number | undefined;
}

/**
 * Measures elapsed time without ever underestimating it. The monotonic clock stops while the machine is suspended;
 * `/proc/uptime` (CLOCK_BOOTTIME) does not. If a virtual machine was paused, possibly only the wall clock shows it, once it
 * is set. Therefore the longest of the three times counts: a wall clock that jumps forward only causes one early renewal.
 */
export class ElapsedTime {
  readonly #clock: Clock;
  readonly #uptimeMs: () => number | undefined;

  constructor(clock: Clock, uptimeMs: () => number | undefined = uptime) {
    this.#clock = clock;
    this.#uptimeMs = uptimeMs;
  }

  now(): Moment {
    return {
      monotonicMs: this.#clock.monotonicMs(),
      wallMs: this.#clock.now(),
      upMs: this.#uptimeMs(),
    };
  }

  /** Milliseconds since `moment`, never fewer than have passed. */
  since(moment: Moment): number {
    const now = this.now();
    const upMs = now.upMs !== undefined && moment.upMs !== undefined ? now.upMs - moment.upMs : 0;
    return Math.max(now.monotonicMs - moment.monotonicMs, now.wallMs - moment.wallMs, upMs);
  }
}

/** The host's uptime; undefined on systems other than Linux. */
function uptime(): number | undefined {
  try {
    const seconds = Number.parseFloat(readFileSync("/proc/uptime", "utf8"));
    return Number.isFinite(seconds) ? seconds * 1_000 : undefined;
  } catch {
    return undefined;
  }
}
