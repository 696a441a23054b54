import { type Backoff, backoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import { Notifier } from "./notifier.ts";

interface Failure {
  readonly thrown: unknown;
  readonly failures: number;
  readonly waitMs: number;
}

export interface WorkQueueOptions {
  /** Reconciles the object of a key. Rejects to be retried. */
  readonly work: (key: string, signal: AbortSignal) => Promise<void>;
  readonly onFailure: (key: string, failure: Failure) => void;
  readonly clock: Clock;
  readonly concurrency: number;
  /** The backoff per key. Default: like controller-runtime's rate limiter. */
  readonly retry?: Backoff;
  /** Returns the tenant to which a key belongs, or undefined for the operator's own keys. See `SHARE`. */
  readonly tenantOf?: (key: string) => string | undefined;
}

/**
 * The share of the slots, among those that other tenants do not use, that one tenant may take, so that a slot remains for
 * the next tenant.
 */
const SHARE = 0.75;

const RETRY: Backoff = { firstMs: 250, maxMs: 30_000, jitter: 0.5 };

/** Created only once, because an abort without a reason creates an error with a stack. */
const CANCELLED = new Error("the delay is cancelled");

/**
 * A level-triggered work queue, as in controllers: a key that is added several times is processed once, a key that is
 * added while it is processed is processed again, and never twice at a time.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  /** The keys to process by tenant, in order. */
  readonly #waiting = new Map<string | undefined, Set<string>>();
  readonly #inFlight = new Set<string>();
  readonly #failures = new Map<string, number>();
  /** The keys with a delay. */
  readonly #timers = new Map<string, AbortController>();
  readonly #notifier = new Notifier();
  #hasEnded = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    const tenant = this.#tenantOf(key);
    const waiting = this.#waiting.get(tenant) ?? new Set();
    this.#waiting.set(tenant, waiting.add(key));
    this.#notifier.notify();
  }

  /** Adds a key after a delay. Replaces an earlier delay of the key. The delay also ends when the key is processed. */
  addAfter(key: string, ms: number): void {
    this.cancel(key);
    if (this.#hasEnded) return;
    const timer = new AbortController();
    this.#timers.set(key, timer);
    void this.#options.clock.sleep(ms, timer.signal).then(
      () => this.add(key),
      () => undefined,
    );
  }

  /** Whether the key is waiting to be processed, now or later. */
  has(key: string): boolean {
    return this.#timers.has(key) || this.#waiting.get(this.#tenantOf(key))?.has(key) === true;
  }

  isInFlight(key: string): boolean {
    return this.#inFlight.has(key);
  }

  cancel(key: string): void {
    this.#timers.get(key)?.abort(CANCELLED);
    this.#timers.delete(key);
  }

  /** Runs until the signal aborts and all work in flight has ended. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const all = new Set<Promise<void>>();
    while (!signal.aborted) {
      for (let key = this.#next(); key !== undefined; key = this.#next()) {
        this.cancel(key);
        this.#inFlight.add(key);
        const one = this.#process(key, signal).finally(() => all.delete(one));
        all.add(one);
      }
      await this.#notifier.wait(Number.POSITIVE_INFINITY, this.#options.clock, signal);
    }
    this.#hasEnded = true;
    for (const key of [...this.#timers.keys()]) this.cancel(key);
    await Promise.all(all);
  }

  #tenantOf(key: string): string | undefined {
    return this.#options.tenantOf?.(key);
  }

  /** Takes the next key that may be processed now, with tenants in turn. */
  #next(): string | undefined {
    const { concurrency } = this.#options;
    if (this.#inFlight.size >= concurrency) return undefined;
    const used = new Map<string | undefined, number>();
    for (const key of this.#inFlight) {
      const tenant = this.#tenantOf(key);
      used.set(tenant, (used.get(tenant) ?? 0) + 1);
    }
    for (const [tenant, waiting] of this.#waiting) {
      const own = used.get(tenant) ?? 0;
      const left = concurrency - (this.#inFlight.size - own);
      if (tenant !== undefined && own >= Math.ceil(SHARE * left)) continue;
      // Checks at most as many keys as are in flight.
      for (const key of waiting) {
        if (this.#inFlight.has(key)) continue;
        waiting.delete(key);
        this.#waiting.delete(tenant);
        if (waiting.size > 0) this.#waiting.set(tenant, waiting);
        return key;
      }
    }
    return undefined;
  }

  async #process(key: string, signal: AbortSignal): Promise<void> {
    const { work, onFailure, retry = RETRY } = this.#options;
    try {
      await work(key, signal);
      this.#failures.delete(key);
    } catch (thrown) {
      if (signal.aborted) return;
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      const waitMs = backoffMs(retry, failures);
      onFailure(key, { thrown, failures, waitMs });
      this.addAfter(key, waitMs);
    } finally {
      this.#inFlight.delete(key);
      this.#notifier.notify();
    }
  }
}
