import { readFileSync } from "node:fs";
import type { Clock } from "../../../shared/clock.ts";

/** A moment, by every clock that there is. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
  readonly upMs: number | undefined;
}

/**
 * For who must not believe that less time went by than did: the monotonic clock stands still while the machine is suspended,
 * `/proc/uptime` (CLOCK_BOOTTIME) goes on; of a virtual machine that was paused only the wall clock may tell, once it is
 * set. The longest of them counts: a wall clock that is set forward costs a renewal, a pause that is missed costs more.
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

  /** Milliseconds, at least as many as went by. */
  since(moment: Moment): number {
    const now = this.now();
    const upMs = now.upMs !== undefined && moment.upMs !== undefined ? now.upMs - moment.upMs : 0;
    return Math.max(now.monotonicMs - moment.monotonicMs, now.wallMs - moment.wallMs, upMs);
  }
}

/** Undefined where the kernel does not tell it (anywhere but on Linux). */
function uptime(): number | undefined {
  try {
    const seconds = Number.parseFloat(readFileSync("/proc/uptime", "utf8"));
    return Number.isFinite(seconds) ? seconds * 1_000 : undefined;
  } catch {
    return undefined;
  }
}
