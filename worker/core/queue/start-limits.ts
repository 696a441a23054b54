import type { Clock } from "../../../shared/clock.ts";

/** A limit for actions that share something, such as the power feed of a rack. */
export interface StartLimit {
  /** Equal for the actions that are counted together. */
  readonly key: string;
  /** What the actions share, for people, such as `rack=r12`. */
  readonly of: string;
  /** The most actions that run at a time. */
  readonly atOnce?: number | undefined;
  /** The shortest time between two starts. */
  readonly everyMs?: number | undefined;
}

/** An action that its limits have admitted. */
export interface LimitedStart {
  /** Records that the action starts now. The limits count the time until the next start from here. */
  started(): void;
  /** Records that the action has ended or will not start. May be called more than once. */
  release(): void;
}

interface Usage {
  running: number;
  /** Whether an action was admitted and has not started yet. */
  isStarting: boolean;
  lastStartMs: number;
}

interface Waiting {
  readonly limits: readonly StartLimit[];
  readonly begin: () => void;
}

/**
 * Limits how many actions run at a time, and how soon one starts after another. Each limit is first in, first out. A start counts
 * when it happens: after admission an action may still wait for a slot, and two of them must not start together then.
 */
export class StartLimits {
  readonly #clock: Clock;
  readonly #usages = new Map<string, Usage>();
  readonly #waiting = new Set<Waiting>();
  #timer: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of actions that wait for a limit. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Resolves when every limit has room. Rejects when the signal aborts. Calls `onWait` with the limits as text if the action has to
   * wait.
   */
  async acquire(
    limits: readonly StartLimit[],
    signal: AbortSignal,
    onWait: (limit: string) => void = () => undefined,
  ): Promise<LimitedStart> {
    signal.throwIfAborted();
    if (limits.length === 0) return { started: () => undefined, release: () => undefined };
    const turn = Promise.withResolvers<void>();
    const waiting: Waiting = { limits, begin: turn.resolve };
    this.#waiting.add(waiting);
    this.#admit();
    if (this.#waiting.has(waiting)) onWait(limits.map(limitText).join(" and "));
    const stop = () => {
      if (this.#waiting.delete(waiting)) turn.reject(signal.reason);
      this.#admit();
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener("abort", stop);
    }
    return this.#held(limits);
  }

  /** Counts an action that an earlier worker started and that still runs. */
  running(limits: readonly StartLimit[]): LimitedStart {
    for (const limit of limits) this.#usageOf(limit).running += 1;
    const held = this.#held(limits);
    held.started();
    return held;
  }

  #held(limits: readonly StartLimit[]): LimitedStart {
    let isStarted = false;
    let isReleased = false;
    const start = () => {
      if (isStarted) return;
      isStarted = true;
      for (const limit of limits) this.#usageOf(limit).isStarting = false;
    };
    return {
      started: () => {
        if (isStarted) return;
        start();
        for (const limit of limits) this.#usageOf(limit).lastStartMs = this.#clock.monotonicMs();
        this.#admit();
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        start();
        for (const limit of limits) this.#usageOf(limit).running -= 1;
        this.#admit();
        this.#forgetUnused();
      },
    };
  }

  #usageOf({ key }: StartLimit): Usage {
    const usage = this.#usages.get(key) ?? {
      running: 0,
      isStarting: false,
      lastStartMs: Number.NEGATIVE_INFINITY,
    };
    this.#usages.set(key, usage);
    return usage;
  }

  /** Admits waiting actions in the order of arrival. One that has to wait also holds back later ones with the same limits. */
  #admit(): void {
    const taken = new Set<string>();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const { limits } = waiting;
      const isBehind = limits.some(({ key }) => taken.has(key));
      const waitMs = isBehind
        ? Number.POSITIVE_INFINITY
        : Math.max(...limits.map((one) => this.#waitMs(one)));
      if (waitMs > 0) {
        nextMs = Math.min(nextMs, waitMs);
        for (const { key } of limits) taken.add(key);
        continue;
      }
      this.#waiting.delete(waiting);
      for (const limit of limits) {
        const usage = this.#usageOf(limit);
        usage.running += 1;
        usage.isStarting = true;
      }
      waiting.begin();
    }
    this.#timer?.abort();
    this.#timer = undefined;
    if (!Number.isFinite(nextMs)) return;
    const timer = new AbortController();
    this.#timer = timer;
    this.#clock.sleep(nextMs, timer.signal).then(
      () => this.#admit(),
      () => undefined,
    );
  }

  /** Returns how long a limit has no room; infinite if it has to wait for another action to start or end. */
  #waitMs(limit: StartLimit): number {
    const { running, isStarting, lastStartMs } = this.#usageOf(limit);
    const { atOnce, everyMs } = limit;
    if (atOnce !== undefined && running >= atOnce) return Number.POSITIVE_INFINITY;
    if (everyMs === undefined) return 0;
    return isStarting ? Number.POSITIVE_INFINITY : lastStartMs + everyMs - this.#clock.monotonicMs();
  }

  #forgetUnused(): void {
    if (this.#waiting.size > 0) return;
    for (const [key, { running, lastStartMs }] of this.#usages) {
      const isRecent = this.#clock.monotonicMs() - lastStartMs < LONGEST_EVERY_MS;
      if (running === 0 && !isRecent) this.#usages.delete(key);
    }
  }
}

/** The longest time between two starts that a limit may ask for. */
export const LONGEST_EVERY_MS = 3_600_000;

/** Formats a limit for people, such as `the limit of rack=r12 (2 at once, one every 5 s)`. */
function limitText({ of, atOnce, everyMs }: StartLimit): string {
  const parts = [
    ...(atOnce === undefined ? [] : [`${atOnce} at once`]),
    ...(everyMs === undefined ? [] : [`one every ${everyMs / 1_000} s`]),
  ];
  return `the limit of ${of} (${parts.join(", ")})`;
}
