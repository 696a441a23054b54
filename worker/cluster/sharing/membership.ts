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
  /** The same after a restart, and no other replica's: the pod's name. */
  readonly member: string;
  readonly clock: Clock;
  readonly time: ElapsedTime;
  readonly log: Logger;
  readonly random: () => number;
  readonly timings: Timings;
  /** It joined, renewed, or was deposed. Must not throw. */
  readonly onChange: () => void;
}

/**
 * This replica's own Lease. Each joining has an identity of its own that never comes back, so that what an identity held is
 * free for good once its Lease is gone. Whoever deposes a member deletes the very version of its Lease that has
 * not changed for long enough: as long as a renewal goes through, nobody has.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #name: string;
  readonly #notifier = new Notifier();
  #identity: string;
  #lease: ShareLease | undefined;
  /** When the last renewal that was answered had been sent. */
  #renewed: Moment | undefined;
  /** Another process of this name, and since when its Lease is known to be as it is. */
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

  /** Why it is not a member, or may soon not be one. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Certainly a member, whatever the others see: nobody may depose it yet. */
  get isValid(): boolean {
    return this.validForMs > 0;
  }

  get validForMs(): number {
    const { time, timings } = this.#options;
    if (!this.#lease || !this.#renewed) return 0;
    return Math.max(0, timings.renewDeadlineMs - time.since(this.#renewed));
  }

  /** Somebody else saw that the Lease is not as it should be. */
  checkNow(): void {
    this.#notifier.notify();
  }

  /** Joins and stays a member until the signal aborts. Never rejects. */
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
        // What only an operator can mend is not asked for all the time.
        if (isKubernetesError(thrown, "forbidden", "unauthorized", "invalid", "no-such-kind", "not-found"))
          waitMs = timings.renewIntervalMs;
      }
      await this.#notifier.wait(waitMs, clock, signal);
    }
  }

  /** Lets go of everything that its identity holds, at once. Only for one that asks for nothing any more. Never rejects. */
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

  /** Gives the time until the next step, from when this one began. */
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

  /** There is a Lease of this name: an own one whose answer was lost, or that of another process. */
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
        // An API that makes a new one of a PUT all the same: this member was deposed, whatever it now says.
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
