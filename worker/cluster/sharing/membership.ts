import { logOutage } from "../../../shared/log-outage.ts";
import { Notifier } from "../../../shared/notifier.ts";
import { textOf } from "../../../shared/text-of.ts";
import { isKubernetesError, KubernetesError } from "../client/kubernetes-error.ts";
import type { ElapsedTime, Moment } from "./elapsed-time.ts";
import { type SharingOptions, versionOf, withRequestTimeout } from "./lease-requests.ts";
import { holderOf, identityOf, type LeaseText, memberLeaseName, type ShareLease } from "./share-lease.ts";

export interface MembershipOptions extends SharingOptions {
  /** Unique, and the same after a restart: the pod's name. */
  readonly member: string;
  readonly time: ElapsedTime;
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
    const { leases, clock, log, timings } = this.#options;
    const identity = this.#identity;
    this.#renewed = undefined;
    try {
      await withRequestTimeout(clock, timings.stopMs, new AbortController().signal, async (bound) => {
        for (;;) {
          try {
            const lease = this.#lease ?? (await leases.find(this.#name, bound));
            if (!lease || holderOf(lease) !== identity) return;
            await leases.remove({ name: this.#name, uid: lease.metadata.uid }, bound);
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

  /** Returns the time until the next step, from the start of this one. */
  async #join(signal: AbortSignal): Promise<number> {
    const { leases, time, timings } = this.#options;
    const sent = time.now();
    try {
      this.#lease = await leases.write(this.#text(), signal);
    } catch (thrown) {
      if (!isKubernetesError(thrown, "already-exists", "conflict")) throw thrown;
      return this.#handleExisting(signal);
    }
    this.#other = undefined;
    this.#succeed(sent);
    return timings.renewIntervalMs;
  }

  /** The Lease exists: ours, if a response was lost, or that of another process. */
  async #handleExisting(signal: AbortSignal): Promise<number> {
    const { leases, clock, log, timings } = this.#options;
    const found = await leases.find(this.#name, signal);
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
      await leases.remove(versionOf(found), signal);
      return 0;
    }
    return timings.renewIntervalMs;
  }

  async #renew(lease: ShareLease, signal: AbortSignal): Promise<number> {
    const { leases, time, timings } = this.#options;
    const sent = time.now();
    try {
      const renewed = await leases.write(this.#text(lease), signal);
      if (renewed.metadata.uid !== lease.metadata.uid) {
        // The API created a new Lease, so the old one was deleted: this replica was evicted.
        this.#rejoin();
        return 0;
      }
      this.#lease = renewed;
    } catch (thrown) {
      if (!isKubernetesError(thrown, "conflict", "not-found")) throw thrown;
      const found = await leases.find(this.#name, signal);
      if (found && holderOf(found) === this.#identity) this.#lease = found;
      else this.#rejoin();
      return 0;
    }
    this.#succeed(sent);
    return timings.renewIntervalMs;
  }

  #text(before?: ShareLease): LeaseText {
    const { group, clock, timings } = this.#options;
    const { leaseDurationMs } = timings;
    const [name, holder, nowMs] = [this.#name, this.#identity, clock.now()];
    return { group, role: "member", name, holder, nowMs, leaseDurationMs, before };
  }

  #succeed(sent: Moment): void {
    const { log, onChange } = this.#options;
    this.#renewed = sent;
    if (this.#problem !== undefined) log.info({ lease: this.#name }, "lease renewal recovered");
    this.#problem = undefined;
    onChange();
  }

  #rejoin(): void {
    const { log, member, random, onChange } = this.#options;
    log.warn({ lease: this.#name }, "replica evicted, rejoining");
    this.#lease = undefined;
    this.#renewed = undefined;
    this.#identity = identityOf(member, random);
    onChange();
  }

  #fail(thrown: unknown): void {
    const facts = { lease: this.#name, error: textOf(thrown) };
    logOutage(this.#options.log, this.#problem === undefined, facts, "lease renewal failed, retrying");
    this.#problem = facts.error;
  }
}
