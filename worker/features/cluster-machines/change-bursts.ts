import type { Clock } from "../../../shared/clock.ts";

/** Changes that follow each other within this time are reported together. No change waits longer than `LONGEST_WAIT_MS`. */
const QUIET_MS = 200;
const LONGEST_WAIT_MS = 2_000;

/** Combines changes that follow each other closely into one report. */
export class ChangeBursts {
  readonly #clock: Clock;
  #hasChanged = false;
  #wake = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  changed(): void {
    this.#hasChanged = true;
    this.#wake.abort();
  }

  /** Resolves after `ms`, or, if something changes before that, once the changes stop. Never rejects. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    if (await this.#changesWithin(ms, signal)) await this.#untilQuiet(signal);
  }

  /** Resolves once the changes stop, or after `LONGEST_WAIT_MS`. */
  async #untilQuiet(signal: AbortSignal): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    while (this.#clock.monotonicMs() - startedMs < LONGEST_WAIT_MS) {
      if (signal.aborted || !(await this.#changesWithin(QUIET_MS, signal))) return;
    }
  }

  /** Whether something changed since the last call, or changes within `ms`. */
  async #changesWithin(ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#hasChanged) {
      const either = AbortSignal.any([signal, this.#wake.signal]);
      await this.#clock.sleep(ms, either).catch(() => undefined);
    }
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    this.#wake = new AbortController();
    return hasChanged;
  }
}
