import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Outage } from "../../core/ports/source.ts";

export interface AvailabilityOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest wait between two probes, if it is less than five seconds. */
  readonly maxBackoffMs: number;
  /** Whether a connection to the server is open. */
  readonly connected: () => boolean;
}

/** Why a call failed; `code` is the gRPC code's name. */
export interface Failure {
  readonly code: string;
  readonly reason: string;
}

interface Down {
  readonly sinceMs: number;
  failure: Failure;
  /** The agent IDs of lanes that have noticed the outage. */
  readonly lanes: Set<string>;
  /** Probes in flight. */
  probing: number;
  /** Aborts when a probe fails. */
  probe: AbortController;
  /** The number of probes, including those of an outage right before. */
  probes: number;
  isLogged: boolean;
  /** Whether the outage began right after another one. */
  readonly isAgain: boolean;
  /** Aborts to probe without further waiting. */
  now: AbortController;
}

const FIRST_PROBE_MS = 500;
/** The longest pause between probes: a call costs little, and the machines wait for it. */
const MOST_PROBE_MS = 5_000;
const CHECK_MS = 100;
/** An available server holds a poll. An unavailable one, or a proxy in front of it, refuses it faster than this. */
const HELD_MS = 500;
/**
 * After an outage waiting calls resume within eight seconds, but not slower than 125 nor faster than 500 per second. The server holds
 * each poll for a minute, so that 1,000 lanes send less than ten times as many polls as usual.
 */
const RELEASE = { withinS: 8, leastPerS: 125, mostPerS: 500, everyMs: 40 } as const;

/**
 * Tracks whether one server is available. During an outage, one call at a time probes the server with growing pauses, and
 * all others wait. Afterwards they resume gradually. An outage logs one warning, however many lanes there are and however
 * often it is interrupted.
 */
export class Availability implements Outage {
  readonly #options: AvailabilityOptions;
  readonly #closing = new AbortController();
  /** Waiting calls in order of arrival. */
  readonly #waiting = new Set<() => void>();
  #down: Down | undefined;
  /** The previous outage. One that follows immediately continues its backoff. */
  #before = { probes: 0, endedMs: Number.NEGATIVE_INFINITY };
  #mayProbe = false;
  #isReleasing = false;

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  /** Why no call may be made now; undefined if one may. */
  refusal(agentId: string): Failure | undefined {
    if (!this.#down || this.#mayProbe) return undefined;
    this.#down.lanes.add(agentId);
    return this.#down.failure;
  }

  /** Makes a call. `failureOf` returns a failure if the result means that the server is unavailable to all lanes. */
  async call<T>(
    agentId: string,
    work: () => Promise<T>,
    failureOf: (result: T) => Failure | undefined,
  ): Promise<{ readonly result: T; readonly failure: Failure | undefined }> {
    const probed = this.#down;
    if (probed) {
      this.#mayProbe = false;
      probed.probing += 1;
    }
    let result: T;
    try {
      result = await work();
    } finally {
      if (probed) probed.probing -= 1;
    }
    const failure = failureOf(result);
    if (!failure) this.#available();
    else {
      this.#unavailable(failure, agentId);
      if (probed && probed === this.#down) probed.probe.abort();
    }
    return { result, failure };
  }

  async over(withinMs: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (this.#mayProbe || (!this.#down && !this.#isReleasing)) return true;
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#waiting.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    try {
      await this.#options.clock.sleep(withinMs, woken.signal);
      return false;
    } catch {
      signal.throwIfAborted();
      return true;
    } finally {
      this.#waiting.delete(wake);
      signal.removeEventListener("abort", wake);
    }
  }

  /** Probes now, because something that usually fails together with the server works again. */
  probeNow(): void {
    const down = this.#down;
    if (!down) return;
    down.probes = 0;
    down.now.abort();
  }

  close(): void {
    this.#closing.abort();
  }

  #unavailable(failure: Failure, agentId: string): void {
    if (this.#closing.signal.aborted) return;
    if (!this.#down) {
      const { clock, maxBackoffMs } = this.#options;
      const sinceMs = clock.monotonicMs();
      const { probes, endedMs } = this.#before;
      const isAgain = sinceMs - endedMs < maxBackoffMs;
      this.#down = {
        sinceMs,
        failure,
        lanes: new Set(),
        probing: 0,
        probe: new AbortController(),
        probes: isAgain ? probes : 0,
        isLogged: false,
        isAgain,
        now: new AbortController(),
      };
      void this.#recover(this.#down);
    }
    this.#down.failure = failure;
    this.#down.lanes.add(agentId);
  }

  /** Probes until the server is available. Never rejects. */
  async #recover(down: Down): Promise<void> {
    const maxMs = Math.min(this.#options.maxBackoffMs, MOST_PROBE_MS);
    const backoff: Backoff = { firstMs: FIRST_PROBE_MS, maxMs, jitter: 0.5 };
    while (this.#isDown(down)) {
      down.probes += 1;
      await this.#sleep(backoffMs(backoff, down.probes), down.now.signal);
      if (down.now.signal.aborted) down.now = new AbortController();
      // By now all lanes have noticed.
      this.#logOutage(down);
      if (this.#isDown(down)) await this.#probe(down);
    }
  }

  /**
   * Lets one call through, and another one if it ends without a result. Resolves when one has failed, or when the outage has
   * ended.
   */
  async #probe(down: Down): Promise<void> {
    down.probe = new AbortController();
    const { signal } = down.probe;
    for (let heldMs = 0; this.#isDown(down) && !signal.aborted; ) {
      if (down.probing === 0) {
        this.#mayProbe = true;
        this.#wake(1);
      }
      await this.#sleep(CHECK_MS, signal);
      const isHeld = down.probing > 0 && !signal.aborted && this.#options.connected();
      heldMs = isHeld ? heldMs + CHECK_MS : 0;
      if (heldMs >= HELD_MS && this.#isDown(down)) this.#available();
    }
    this.#mayProbe = false;
  }

  #available(): void {
    const down = this.#down;
    if (!down) return;
    this.#down = undefined;
    this.#mayProbe = false;
    this.#logOutage(down);
    const endedMs = this.#options.clock.monotonicMs();
    const durationMs = Math.round(endedMs - down.sinceMs);
    const { probes, lanes } = down;
    this.#before = { probes, endedMs };
    this.#options.log.info({ durationMs, probes, lanes: lanes.size }, "tink server available again");
    if (!this.#isReleasing) void this.#release();
  }

  async #release(): Promise<void> {
    this.#isReleasing = true;
    const { withinS, leastPerS, mostPerS, everyMs } = RELEASE;
    const perSecond = Math.min(mostPerS, Math.max(leastPerS, this.#waiting.size / withinS));
    const calls = Math.ceil((perSecond * everyMs) / 1_000);
    while (!this.#down && this.#waiting.size > 0 && !this.#closing.signal.aborted) {
      this.#wake(calls);
      await this.#sleep(everyMs);
    }
    this.#isReleasing = false;
  }

  #wake(calls: number): void {
    for (const wake of [...this.#waiting].slice(0, calls)) {
      this.#waiting.delete(wake);
      wake();
    }
  }

  #logOutage(down: Down): void {
    if (down.isLogged || this.#closing.signal.aborted) return;
    down.isLogged = true;
    const { failure, lanes } = down;
    const fields = { ...failure, lanes: lanes.size };
    logOutage(this.#options.log, !down.isAgain, fields, "tink server unavailable, retrying");
  }

  #isDown(down: Down): boolean {
    return this.#down === down && !this.#closing.signal.aborted;
  }

  async #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const closing = this.#closing.signal;
    await this.#options.clock
      .sleep(ms, signal ? AbortSignal.any([signal, closing]) : closing)
      .catch(() => undefined);
  }
}
