import type { Clock } from "../../../../shared/clock.ts";
import type { Minute } from "./records.ts";

const MINUTE_MS = 60_000;
/** The minutes that are kept. */
export const ACTIVITY_MINUTES = 60;

/** Counts how many actions ended and waited in each minute of the last hour. */
export class Activity {
  readonly #clock: Clock;
  #minutes: Minute[] = [];
  /** The number of the latest minute since the origin of the monotonic clock. */
  #last: number;
  #queue = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#last = this.#current - ACTIVITY_MINUTES;
  }

  ended(ok: boolean): void {
    this.#now()[ok ? "succeeded" : "failed"] += 1;
  }

  /** Records the number of actions that wait now. */
  queue(waiting: number): void {
    const now = this.#now();
    now.waiting = Math.max(now.waiting, waiting);
    this.#queue = waiting;
  }

  /** Always `ACTIVITY_MINUTES` minutes, the oldest first; the last one is the current one. */
  minutes(): readonly Minute[] {
    this.#now();
    return this.#minutes;
  }

  /** Restores saved minutes; call it before any event. Minutes in the future, recorded with a wrong clock, are left out. */
  restore(minutes: readonly Minute[]): void {
    const first = this.#now().at.getTime() - (ACTIVITY_MINUTES - 1) * MINUTE_MS;
    for (const minute of minutes) {
      const index = Math.floor((minute.at.getTime() - first) / MINUTE_MS);
      const now = this.#minutes[index];
      if (now) this.#minutes[index] = { ...minute, at: now.at };
    }
  }

  get #current(): number {
    return Math.floor(this.#clock.monotonicMs() / MINUTE_MS);
  }

  /** The current minute, after adding the minutes in which nothing happened. */
  #now(): Minute {
    const current = this.#current;
    for (let minute = Math.max(this.#last, current - ACTIVITY_MINUTES) + 1; minute < current; minute += 1)
      this.#minutes.push(this.#begun(minute));
    const [last = this.#begun(current)] = this.#last === current ? this.#minutes.splice(-1) : [];
    this.#minutes.push(last);
    this.#minutes = this.#minutes.slice(-ACTIVITY_MINUTES);
    this.#last = current;
    return last;
  }

  #begun(minute: number): Minute {
    const originMs = this.#clock.now() - this.#clock.monotonicMs();
    return { at: new Date(originMs + minute * MINUTE_MS), succeeded: 0, failed: 0, waiting: this.#queue };
  }
}
