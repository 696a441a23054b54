import { setImmediate as untilIoIsRead } from "node:timers/promises";
import type { Clock } from "../../../shared/clock.ts";

/** The server checks a held poll again after this time. From then on, a new poll would only lose its place in the queue. */
const SERVER_RETRY_MS = 1_000;
/** The allowed hold grows by itself once for this many polls in the queue. */
const POLLS_PER_HOLD = 10;
/** A poll that takes this many times as long as the fastest recent one is held. */
const SLOWER = 4;
const LAST_ANSWERS = 8;
const LEAST_CHANCE = 0.001;
/** Older answers do not show the current load. */
const RECENT_MS = 5_000;
/** Precautionary polls beyond this number are skipped, because thousands of lanes may start at once. */
export const MOST_PROBES = 100;

/**
 * Measures how fast a server answers the polls of all lanes. This tells a poll that the server holds, because it has no
 * action for it, from one that is still queued. Cancelling a queued poll wastes work and makes the queue longer.
 */
export class ServerLoad {
  readonly #clock: Clock;
  #answeredMs = Number.NEGATIVE_INFINITY;
  /** When the newest of the answered polls was sent. */
  #frontMs = Number.NEGATIVE_INFINITY;
  /** The durations of the latest answers. */
  #tookMs: readonly number[] = [];
  #waiting = 0;
  #surePolls = 0;
  /** How likely it is that a server which looks at one random Workflow of an agent ID has served all latest polls at once. */
  #byChance = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that a poll was answered, which was sent at `sentMs` of the monotonic clock. */
  answered(sentMs: number): void {
    this.#answeredMs = this.#clock.monotonicMs();
    this.#frontMs = Math.max(this.#frontMs, sentMs);
    this.#tookMs = [...this.#tookMs.slice(1 - LAST_ANSWERS), this.#answeredMs - sentMs];
  }

  /**
   * Records that the server has served an agent ID that also has ended Workflows, at once or not. Tinkerbell's pull request
   * 964 passes over them.
   */
  servedBeside(ended: number, isAtOnce: boolean): void {
    this.#byChance = isAtOnce ? this.#byChance / (ended + 1) : 1;
  }

  /** Whether the server certainly passes over ended Workflows. */
  get passesOverEnded(): boolean {
    return this.#byChance < LEAST_CHANCE;
  }

  /** Sends a precautionary poll. Resolves to undefined and sends nothing if too many of them are in flight. */
  async probe<T>(poll: () => Promise<T>): Promise<T | undefined> {
    if (this.#surePolls >= MOST_PROBES) return undefined;
    this.#surePolls += 1;
    try {
      return await poll();
    } finally {
      this.#surePolls -= 1;
    }
  }

  /**
   * Resolves when the server holds a poll that was sent at `sentMs`: not before `ms`, and later if the server is busy.
   * Rejects when the signal aborts.
   */
  async held(sentMs: number, ms: number, signal: AbortSignal): Promise<void> {
    this.#waiting += 1;
    try {
      do {
        const ageMs = this.#clock.monotonicMs() - sentMs;
        // The worker checks older polls less often, because the server may hold thousands.
        await this.#clock.sleep(ageMs < SERVER_RETRY_MS ? ms : ageMs, signal);
        // Under load a timer fires late, before the answers that have arrived are read.
        await untilIoIsRead(undefined, { signal });
      } while (!this.#isHeld(sentMs, ms));
    } finally {
      this.#waiting -= 1;
    }
  }

  #isHeld(sentMs: number, ms: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    const isOvertaken = this.#frontMs - sentMs >= ms;
    const queueMs = isOvertaken ? 0 : (ms * (this.#waiting - 1)) / POLLS_PER_HOLD;
    const usualMs = nowMs - this.#answeredMs < RECENT_MS ? Math.min(...this.#tookMs) : 0;
    const limitMs = Math.max(ms + queueMs, SLOWER * usualMs);
    const sinceMs = isOvertaken ? sentMs : Math.max(sentMs, this.#answeredMs);
    return limitMs < SERVER_RETRY_MS && nowMs - sinceMs >= limitMs;
  }
}
