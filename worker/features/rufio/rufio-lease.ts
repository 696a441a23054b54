import { z } from "zod";
import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { Notifier } from "../../../shared/notifier.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { KubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { WatchedObjects } from "../../kubernetes/client/watched-objects.ts";

/** The name of Rufio's Lease (`LeaderElectionID` in rufio.go). */
const RUFIO_LEASE = "e74dec1a.bmc.tinkerbell.org";

export interface RufioLeaseOptions {
  readonly cluster: Cluster;
  readonly namespace: string;
  /** Whether the operator says that no Rufio runs in the cluster, so that a missing Lease counts as free. */
  readonly alone: boolean;
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The error while Rufio holds its Lease or may hold it. */
export class LeaseHeld extends Error {
  override readonly name = "LeaseHeld";
}

/** The backoff for a missing right or API, which only an operator can fix. */
const RETRY: Backoff = { firstMs: 5_000, maxMs: 60_000, jitter: 0.3 };

const Lease = z.object({
  metadata: z.object({ uid: z.string() }),
  spec: z
    .object({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
      acquireTime: z.string().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.number().nullish(),
    })
    .prefault({}),
});
type Lease = z.infer<typeof Lease>;

interface Observed {
  readonly record: string;
  readonly holder: string;
  readonly untilMs: number;
}

/**
 * Resolves to why the worker must not take over Rufio's work unless the operator says that no Rufio runs; undefined if it
 * may. Rejects with a `KubernetesError`.
 */
export async function missingLease(
  cluster: Cluster,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await cluster.find(KINDS.lease, { namespace, name: RUFIO_LEASE }, Lease, signal);
  return found ? undefined : `there is no Lease ${RUFIO_LEASE} in ${namespace}: ${UNPROTECTED}`;
}

const UNPROTECTED = "a Rufio without leader election takes none, and would run the same Jobs as this worker";

/**
 * Observes the Lease of Rufio's leader election, which shows whether Rufio is running. A missing Lease proves nothing, because
 * Rufio acquires none without leader election, which is its program's default. Like client-go, this class does not compare
 * the Lease's times with the local clock: the Lease has expired once no renewal has been observed for its duration. It counts
 * as held until it has been read.
 */
export class RufioLease {
  readonly #options: RufioLeaseOptions;
  readonly #name: ObjectName;
  readonly #watched: WatchedObjects<Lease>;
  #observed: Observed | undefined;
  #isFree = false;
  #wasSeen = false;
  #logged: boolean | undefined;
  readonly #notifier = new Notifier();

  constructor(options: RufioLeaseOptions) {
    this.#options = options;
    const { cluster, namespace, clock, log } = options;
    this.#name = { namespace, name: RUFIO_LEASE };
    this.#watched = new WatchedObjects<Lease>({
      cluster,
      kind: KINDS.lease,
      selection: { namespace, fieldSelector: `metadata.name=${RUFIO_LEASE}` },
      project: (object) => Lease.safeParse(object).data,
      onChange: (change) => {
        this.#observe(change.kind === "set" ? change.value : undefined);
        this.#notifier.notify();
      },
      clock,
      log,
    });
  }

  /** Whether the Lease is free, according to the last watch event. `confirmFree` asks the API. */
  get isFree(): boolean {
    return this.#isFree;
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    if (!(await this.#untilReadable(signal))) return;
    const watching = this.#watched.run(signal);
    await this.#watched.synced.catch(() => undefined);
    while (!signal.aborted) {
      const remainingMs = this.#remainingMs();
      // The watch may be stale, for example after the process was paused, so ask the API.
      if (remainingMs > 0) this.#setFree(false);
      else if (!this.#isFree) await this.#recheck(signal);
      const waitMs = remainingMs > 0 ? remainingMs : RETRY.firstMs;
      await this.#notifier.wait(
        this.#isFree ? Number.POSITIVE_INFINITY : waitMs,
        this.#options.clock,
        signal,
      );
    }
    await watching;
  }

  /**
   * Asks the API whether the Lease is free. Call before a write or a start. Rejects with `LeaseHeld`, a `KubernetesError`, or
   * the signal's reason.
   */
  async confirmFree(signal: AbortSignal): Promise<void> {
    if (this.#isFree) this.#observe(await this.#read(signal));
    if (this.#isFree && this.#remainingMs() <= 0 && this.#isProtected) return;
    this.#notifier.notify();
    const holder = this.#observed?.holder;
    throw new LeaseHeld(
      holder
        ? `${holder} holds Rufio's Lease: Rufio does the work`
        : "it is unknown whether Rufio is running",
    );
  }

  /** Whether the Lease would show a running Rufio. */
  get #isProtected(): boolean {
    return this.#options.alone || this.#wasSeen;
  }

  async #untilReadable(signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#options;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        this.#observe(await this.#read(signal));
        return true;
      } catch (thrown) {
        if (signal.aborted) break;
        const waitMs = backoffMs(RETRY, failures);
        const error = textOf(thrown);
        const facts = { lease: RUFIO_LEASE, namespace: this.#name.namespace, error, waitMs };
        log[failures === 1 ? "error" : "debug"](facts, "Rufio lease read failed, Rufio work paused");
        await clock.sleep(waitMs, signal).catch(() => undefined);
      }
    }
    return false;
  }

  /** Reads the Lease again after it has expired, and frees it if it has not changed. */
  async #recheck(signal: AbortSignal): Promise<void> {
    try {
      this.#observe(await this.#read(signal));
      this.#setFree(this.#remainingMs() <= 0 && this.#isProtected);
    } catch (thrown) {
      // The watch logs why the API is unavailable. Until the Lease can be read, nothing is started.
      if (!signal.aborted && !(thrown instanceof KubernetesError)) throw thrown;
    }
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    return this.#options.cluster.find(KINDS.lease, this.#name, Lease, signal);
  }

  #observe(lease: Lease | undefined): void {
    if (lease) this.#wasSeen = true;
    const record = JSON.stringify(lease ?? null);
    if (record === this.#observed?.record) return;
    const { holderIdentity, leaseDurationSeconds } = lease?.spec ?? {};
    const holder = holderIdentity ?? "";
    const lastsMs = holder === "" ? 0 : (leaseDurationSeconds ?? 0) * 1_000;
    this.#observed = { record, holder, untilMs: this.#options.clock.monotonicMs() + lastsMs };
  }

  #remainingMs(): number {
    const { holder = "", untilMs = 0 } = this.#observed ?? {};
    return holder === "" ? 0 : untilMs - this.#options.clock.monotonicMs();
  }

  #setFree(isFree: boolean): void {
    const { log, onChange } = this.#options;
    this.#isFree = isFree;
    if (this.#logged === isFree) return;
    this.#logged = isFree;
    const facts = { lease: RUFIO_LEASE, namespace: this.#name.namespace };
    if (isFree) log.info(facts, "Rufio lease is free, taking over");
    else if (!this.#isProtected)
      log.error({ ...facts, reason: UNPROTECTED }, "Rufio lease not found, Rufio work paused");
    else log.info({ ...facts, holder: this.#observed?.holder }, "Rufio lease is held, waiting");
    onChange();
  }
}
