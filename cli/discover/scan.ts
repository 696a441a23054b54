import { detectPresence } from "../../shared/bmc/providers/ipmi/session/presence.ts";
import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import { mapLimited } from "../../worker/doctor/map-limited.ts";
import type { FoundBmc, Ports, Target } from "./bmc.ts";
import { probeAmt, probeRedfish } from "./probes.ts";

/** Limits how often callers act per second, with even spacing and without bursts. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number, clock: Clock) {
    this.#spacingMs = 1_000 / perSecond;
    this.#clock = clock;
  }

  /** Resolves when the caller may act; rejects with the signal's reason. */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const nowMs = this.#clock.monotonicMs();
    const atMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = atMs + this.#spacingMs;
    if (atMs > nowMs) await this.#clock.sleep(atMs - nowMs, signal);
  }
}

export interface ScanOptions {
  readonly ports: Ports;
  /** The number of connections and packets per second. */
  readonly rate: number;
  /** The number of hosts probed at the same time. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Called after each host. */
  readonly onProgress?: (probed: number, found: number) => void;
}

/**
 * Looks for BMCs without a login. Resolves to the hosts that answer, in the order of the targets. Rejects only when the
 * signal aborts.
 */
export async function scan(
  targets: readonly Target[],
  options: ScanOptions,
  signal: AbortSignal,
): Promise<readonly FoundBmc[]> {
  const limiter = new RateLimiter(options.rate, options.clock);
  let [probed, found] = [0, 0];
  const done = (result: FoundBmc | undefined) => {
    probed += 1;
    if (result) found += 1;
    options.onProgress?.(probed, found);
    return result;
  };
  const results = await mapLimited(
    targets,
    {
      mostAtATime: options.concurrency,
      work: async (target, own) => done(await probeHost(target, options, limiter, own)),
      failed: () => done(undefined),
    },
    signal,
  );
  return results.filter((result) => result !== undefined);
}

async function probeHost(
  { host, redfishPort }: Target,
  { ports, timeoutMs }: ScanOptions,
  limiter: RateLimiter,
  signal: AbortSignal,
): Promise<FoundBmc | undefined> {
  const turn = (until: AbortSignal) => limiter.turn(until);
  const probing = { timeoutMs, turn };
  const [redfish, plainAmt, tlsAmt, version] = await Promise.all([
    orAbsent(probeRedfish(host, redfishPort ?? ports.redfish, probing, signal), signal),
    orAbsent(probeAmt(host, { scheme: "http", port: ports.amt }, probing, signal), signal),
    orAbsent(probeAmt(host, { scheme: "https", port: ports.amtTls }, probing, signal), signal),
    orAbsent(detectPresence({ host, port: ports.ipmi, timeoutMs, turn }, signal), signal),
  ]);
  const amt = tlsAmt ?? plainAmt;
  const ipmi = version && { port: ports.ipmi, version };
  return redfish || amt || ipmi ? { host, ...defined({ redfish, amt, ipmi }) } : undefined;
}

/** Turns a failed probe into undefined: what answers otherwise, or fails, is not a BMC of this kind. */
async function orAbsent<T>(probe: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await probe;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
