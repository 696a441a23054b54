import type { Clock } from "../../../../shared/clock.ts";

/** One minute of the worker. */
export interface Minute {
  readonly succeeded: number;
  readonly failed: number;
  /** The most actions that waited at once. */
  readonly waiting: number;
}

/** A minute with its start. */
export interface DatedMinute extends Minute {
  readonly at: Date;
}

interface Counted {
  /** Since the origin of the monotonic clock; negative before this worker. */
  readonly minute: number;
  succeeded: number;
  failed: number;
  waiting: number;
  /** How many wait at its end. */
  queue: number;
}

const MINUTE_MS = 60_000;
/** The minutes that are kept. */
export const ACTIVITY_MINUTES = 60;

/** How many actions ended and waited in each minute of the last hour. */
export class Activity {
  readonly #clock: Clock;
  /** Oldest first. A minute without a change is absent; the first one may be older than an hour, for its queue. */
  readonly #counted: Counted[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ended(ok: boolean): void {
    this.#now()[ok ? "succeeded" : "failed"] += 1;
  }

  /** `waiting` is the number of actions that wait now. */
  queue(waiting: number): void {
    if (waiting === (this.#counted.at(-1)?.queue ?? 0)) return;
    const now = this.#now();
    now.queue = waiting;
    now.waiting = Math.max(now.waiting, waiting);
  }

  /** Oldest first, always `ACTIVITY_MINUTES`; the last one is the current one. */
  minutes(): readonly Minute[] {
    const first = this.#minute - ACTIVITY_MINUTES + 1;
    let index = 0;
    let queue = 0;
    for (; (this.#counted[index]?.minute ?? first) < first; index += 1)
      queue = this.#counted[index]?.queue ?? 0;
    return Array.from({ length: ACTIVITY_MINUTES }, (_, offset) => {
      const counted = this.#counted[index];
      if (counted?.minute !== first + offset) return { succeeded: 0, failed: 0, waiting: queue };
      index += 1;
      queue = counted.queue;
      return { succeeded: counted.succeeded, failed: counted.failed, waiting: counted.waiting };
    });
  }

  /** The minutes in which something happened, for `restore`. */
  kept(): readonly DatedMinute[] {
    const originMs = this.#clock.now() - this.#clock.monotonicMs();
    return this.#counted.map(({ minute, succeeded, failed, waiting }) => ({
      ...{ succeeded, failed, waiting, at: new Date(originMs + minute * MINUTE_MS) },
    }));
  }

  /** Before any event. Minutes of the future, where the clock was wrong, are left out. */
  restore(minutes: readonly DatedMinute[]): void {
    const originMs = this.#clock.now() - this.#clock.monotonicMs();
    for (const { at, succeeded, failed, waiting } of minutes.slice(-ACTIVITY_MINUTES)) {
      const minute = Math.floor((at.getTime() - originMs) / MINUTE_MS);
      const isNext = minute > (this.#counted.at(-1)?.minute ?? Number.NEGATIVE_INFINITY);
      if (isNext && minute <= this.#minute) {
        this.#counted.push({ minute, succeeded, failed, waiting, queue: 0 });
      }
    }
  }

  get #minute(): number {
    return Math.floor(this.#clock.monotonicMs() / MINUTE_MS);
  }

  #now(): Counted {
    const minute = this.#minute;
    const last = this.#counted.at(-1);
    if (last?.minute === minute) return last;
    const queue = last?.queue ?? 0;
    const counted = { minute, succeeded: 0, failed: 0, waiting: queue, queue };
    this.#counted.push(counted);
    if (this.#counted.length > ACTIVITY_MINUTES) this.#counted.shift();
    return counted;
  }
}
