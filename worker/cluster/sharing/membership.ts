import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError, KubernetesError } from "../client/kubernetes-error.ts";
import type { ElapsedTime, Moment } from "./elapsed-time.ts";
import { Notifier } from "./notifier.ts";
import { withRequestTimeout } from "./request-timeout.ts";
import {
  findLease,
  holderOf,
  identityOf,
  leaseText,
  memberLeaseName,
  type ShareCluster,
  ShareLease,
} from "./share-lease.ts";
import type { Timings } from "./timings.ts";

export interface MembershipOptions {
  readonly cluster: ShareCluster;
  readonly group: string;
  /** Unique, and the same after a restart: the pod's name. */
  readonly member: string;
  readonly clock: Clock;
  readonly time: ElapsedTime;
  readonly log: Logger;
  readonly random: () => number;
  readonly timings: Timings;
  /** The replica joined, renewed, or was evicted. Must not throw. */
  readonly onChange: () => void;
}

/**
 * This replica's own Lease. The replica uses a new identity every time it joins, so that what an identity held is free
 * once its Lease is gone. To evict a member, another replica deletes the exact version of its Lease that has not
 * changed for too long: as long as a renewal succeeds, nothing was deleted.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #name: string;
  readonly #notifier = new Notifier();
  #identity: string;
  #lease: ShareLease | undefined;
  /** When the last successful renewal was sent. */
  #renewed: Moment | undefined;
  /** Another process with this name, and since when its Lease is unchanged. */
  #other: { readonly lease: ShareLease; readonly sinceMs: number } | undefined;
  #problem: string | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#name = memberLeaseName(options.group, options.member);
    this.#identity = identityOf(options.member, options.random);
  }

  get identity(): string {
    return this.#identity;
  }

  get leaseName(): string {
    return this.#name;
  }

  /** Why the membership is lost or at risk. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Whether this replica is certainly a member: no other may evict it yet. */
  get isValid(): boolean {
    return this.validForMs > 0;
  }

  get validForMs(): number {
    const { time, timings } = this.#options;
    if (!this.#lease || !this.#renewed) return 0;
    return Math.max(0, timings.renewDeadlineMs - time.since(this.#renewed));
  }

  /** Renews now, because the Lease may be gone. */
  checkNow(): void {
    this.#notifier.notify();
  }

  /** Joins, and stays a member until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timings } = this.#options;
    while (!signal.aborted) {
      const sentMs = clock.monotonicMs();
      let waitMs: number;
      try {
        waitMs = this.#lease ? await this.#renew(this.#lease, signal) : await this.#join(signal);
        waitMs -= clock.monotonicMs() - sentMs;
      } catch (thrown) {
        if (signal.aborted) return;
        this.#fail(thrown);
        waitMs = timings.retryMs;
        // Only an operator can fix these.
        if (isKubernetesError(thrown, "forbidden", "unauthorized", "invalid", "no-such-kind", "not-found"))
          waitMs = timings.renewIntervalMs;
      }
      await this.#notifier.wait(waitMs, clock, signal);
    }
  }

  /** Deletes the Lease, which frees everything its identity holds. Call when nothing polls any more. Never rejects. */
  async leave(): Promise<void> {
    const { cluster, clock, log, timings } = this.#options;
    const identity = this.#identity;
    this.#renewed = undefined;
    try {
      await withRequestTimeout(clock, timings.stopMs, new AbortController().signal, async (bound) => {
        for (;;) {
          try {
            const lease = this.#lease ?? (await findLease(cluster, this.#name, bound));
            if (!lease || holderOf(lease) !== identity) return;
            await cluster.remove(KINDS.lease, this.#at, { uid: lease.metadata.uid }, bound);
            return;
          } catch (thrown) {
            if (!(thrown instanceof KubernetesError && thrown.passing)) throw thrown;
            await clock.sleep(timings.retryMs, bound);
          }
        }
      });
    } catch (thrown) {
      log.warn({ lease: this.#name, error: textOf(thrown) }, "lease release failed, leaving it to expire");
    } finally {
      this.#lease = undefined;
    }
  }

  get #at() {
    return { namespace: this.#options.cluster.namespace, name: this.#name };
  }

  /** Returns the time until the next step, from the start of this one. */
  async #join(signal: AbortSignal): Promise<number> {
    const { cluster, time, timings } = this.#options;
    const sent = time.now();
    try {
      this.#lease = await this.#request(signal, (bound) =>
        cluster.create(KINDS.lease, cluster.namespace, this.#text(), ShareLease, bound),
      );
    } catch (thrown) {
      if (!isKubernetesError(thrown, "already-exists", "conflict")) throw thrown;
      return this.#meet(signal);
    }
    this.#other = undefined;
    this.#succeed(sent);
    return timings.renewIntervalMs;
  }

  /** The Lease exists: ours, if a response was lost, or that of another process. */
  async #meet(signal: AbortSignal): Promise<number> {
    const { cluster, clock, log, timings } = this.#options;
    const found = await this.#request(signal, (bound) => findLease(cluster, this.#name, bound));
    if (!found) return 0;
    if (holderOf(found) === this.#identity) {
      this.#lease = found;
      return 0;
    }
    const nowMs = clock.monotonicMs();
    const { uid, resourceVersion } = found.metadata;
    const seen = this.#other?.lease.metadata;
    if (seen?.uid !== uid || seen.resourceVersion !== resourceVersion) {
      if (seen?.uid === uid) {
        const problem = `another replica is called ${this.#options.member}, too`;
        if (this.#problem !== problem)
          log.warn({ lease: this.#name, holder: holderOf(found) }, "duplicate replica name, waiting");
        this.#problem = problem;
      }
      this.#other = { lease: found, sinceMs: nowMs };
    } else if (this.#other && nowMs - this.#other.sinceMs >= timings.leaseDurationMs) {
      await this.#request(signal, (bound) =>
        cluster.remove(KINDS.lease, this.#at, { uid, resourceVersion }, bound),
      );
      return 0;
    }
    return timings.renewIntervalMs;
  }

  async #renew(lease: ShareLease, signal: AbortSignal): Promise<number> {
    const { cluster, time, timings } = this.#options;
    const sent = time.now();
    try {
      const renewed = await this.#request(signal, (bound) =>
        cluster.replace(KINDS.lease, this.#at, this.#text(lease), ShareLease, bound),
      );
      if (renewed.metadata.uid !== lease.metadata.uid) {
        // The API created a new Lease, so the old one was deleted: this replica was evicted.
        this.#becomeAnother();
        return 0;
      }
      this.#lease = renewed;
    } catch (thrown) {
      if (!isKubernetesError(thrown, "conflict", "not-found")) throw thrown;
      const found = await this.#request(signal, (bound) => findLease(cluster, this.#name, bound));
      if (found && holderOf(found) === this.#identity) this.#lease = found;
      else this.#becomeAnother();
      return 0;
    }
    this.#succeed(sent);
    return timings.renewIntervalMs;
  }

  #text(before?: ShareLease) {
    const { group, clock, timings } = this.#options;
    return leaseText({
      group,
      role: "member",
      name: this.#name,
      holder: this.#identity,
      nowMs: clock.now(),
      leaseDurationMs: timings.leaseDurationMs,
      before,
    });
  }

  #succeed(sent: Moment): void {
    const { log, onChange } = this.#options;
    this.#renewed = sent;
    if (this.#problem !== undefined) log.info({ lease: this.#name }, "lease renewal recovered");
    this.#problem = undefined;
    onChange();
  }

  #becomeAnother(): void {
    const { log, member, random, onChange } = this.#options;
    log.warn({ lease: this.#name }, "replica evicted, rejoining");
    this.#lease = undefined;
    this.#renewed = undefined;
    this.#identity = identityOf(member, random);
    onChange();
  }

  #fail(thrown: unknown): void {
    const { log } = this.#options;
    const error = textOf(thrown);
    logOutage(
      log,
      this.#problem === undefined,
      { lease: this.#name, error },
      "lease renewal failed, retrying",
    );
    this.#problem = error;
  }

  #request<T>(signal: AbortSignal, work: (bound: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, timings } = this.#options;
    return withRequestTimeout(clock, timings.requestTimeoutMs, signal, work);
  }
}
