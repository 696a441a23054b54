import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError } from "../client/kubernetes-error.ts";
import type { Membership } from "./membership.ts";
import { withRequestTimeout } from "./request-timeout.ts";
import { holderOf, leaseText, type ShareCluster, ShareLease, shardLeaseName } from "./share-lease.ts";
import type { ShareView } from "./share-view.ts";
import type { Timings } from "./timings.ts";

export interface ShardOwnerOptions {
  readonly cluster: ShareCluster;
  readonly group: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timings: Timings;
  readonly view: ShareView;
  readonly membership: Pick<Membership, "identity" | "isValid">;
  readonly writesAtATime: number;
  /** Takes what is owned over to the lanes; resolves when nothing is asked for as anybody else. */
  readonly announce: () => Promise<void>;
  /** Another step may be due. Must not throw. */
  readonly onChange: () => void;
}

/**
 * The shards that this replica owns: those whose claim the API has answered, until it gives them up or is deposed. What
 * the watch shows is only what claims are tried by; each is a write on the very version that was seen to be free.
 */
export class ShardOwner {
  readonly #options: ShardOwnerOptions;
  readonly #owned = new Set<number>();
  /** Being written. */
  readonly #busy = new Set<number>();
  /** The version on which a write was tried, and when: the watch has yet to show what came of it. */
  readonly #basis = new Map<number, { readonly version: string; readonly sinceMs: number }>();
  #aim: ReadonlySet<number> = new Set();
  #problem: string | undefined;
  #retryAtMs = Number.POSITIVE_INFINITY;
  #notBeforeMs = 0;
  #announced: Promise<boolean> = Promise.resolve(true);
  #next: Promise<boolean> | undefined;

  constructor(options: ShardOwnerOptions) {
    this.#options = options;
  }

  get owned(): ReadonlySet<number> {
    return this.#owned;
  }

  /** Why some are not taken or given up. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Until something failed may be tried again. */
  get retryInMs(): number {
    return this.#retryAtMs - this.#options.clock.monotonicMs();
  }

  has(shard: number): boolean {
    return this.#owned.has(shard);
  }

  /** Undefined when it is free; the holder may have left. */
  holderOf(shard: number): string | undefined {
    if (this.#owned.has(shard)) return this.#options.membership.identity;
    const seen = this.#options.view.shard(shard);
    return seen && holderOf(seen);
  }

  /** Owns nothing any more; for one that is deposed, or stops and then leaves. */
  loseAll(): void {
    if (this.#owned.size === 0) return;
    this.#owned.clear();
    void this.announce();
  }

  /** Tells the lanes, once at a time. Resolves to whether all that was lost before the call has gone quiet; never rejects. */
  announce(): Promise<boolean> {
    if (this.#next) return this.#next;
    this.#next = this.#announced.then(async () => {
      this.#next = undefined;
      try {
        await this.#options.announce();
        return true;
      } catch (thrown) {
        this.#options.log.error({ error: textOf(thrown) }, "lane update failed, retrying");
        return false;
      }
    });
    this.#announced = this.#next;
    return this.#next;
  }

  /** Takes these as they become free and gives all others up. */
  aim(shards: ReadonlySet<number>, signal: AbortSignal): void {
    const { clock, membership, view } = this.#options;
    this.#aim = shards;
    this.#loseWhatOthersHold();
    if (!membership.isValid || clock.monotonicMs() < this.#notBeforeMs) return;
    this.#retryAtMs = Number.POSITIVE_INFINITY;
    const releases: number[] = [];
    for (const shard of this.#owned) if (!shards.has(shard) && !this.#busy.has(shard)) releases.push(shard);
    for (const [shard, lease] of view.shards) {
      // Held in this replica's name by a write whose answer was lost.
      if (holderOf(lease) !== membership.identity || this.#owned.has(shard)) continue;
      if (!shards.has(shard) && this.#isSettled(shard)) releases.push(shard);
    }
    if (releases.length > 0) {
      for (const shard of releases) {
        this.#owned.delete(shard);
        this.#busy.add(shard);
      }
      void this.#release(releases, signal);
    }
    this.#claimNext(signal);
  }

  #claimNext(signal: AbortSignal): void {
    const { membership, view, writesAtATime } = this.#options;
    if (!membership.isValid || signal.aborted || this.retryInMs < Number.POSITIVE_INFINITY) return;
    for (const shard of this.#aim) {
      if (this.#busy.size >= writesAtATime) return;
      if (this.#owned.has(shard) || !this.#isSettled(shard)) continue;
      const holder = this.holderOf(shard);
      if (holder !== undefined && holder !== membership.identity && view.has(holder)) continue;
      this.#busy.add(shard);
      void this.#claim(shard, signal);
    }
  }

  /** Whether the watch has shown what came of the last write. */
  #isSettled(shard: number): boolean {
    if (this.#busy.has(shard)) return false;
    const basis = this.#basis.get(shard);
    if (basis === undefined) return true;
    const { clock, timings, view } = this.#options;
    const isOld = clock.monotonicMs() - basis.sinceMs > timings.leaseDurationMs;
    if (!isOld && basis.version === versionOf(view.shard(shard))) return false;
    this.#basis.delete(shard);
    return true;
  }

  /** Somebody wrote over it, which no replica does: better to stop at once. */
  #loseWhatOthersHold(): void {
    const { membership, view, log } = this.#options;
    let lost = 0;
    for (const shard of this.#owned) {
      const lease = view.shard(shard);
      if (versionOf(lease) === this.#basis.get(shard)?.version) continue;
      if (lease && holderOf(lease) === membership.identity) continue;
      this.#owned.delete(shard);
      lost += 1;
    }
    if (lost === 0) return;
    log.error({ shards: lost }, "lane leases changed externally, lanes released");
    void this.announce();
  }

  async #claim(shard: number, signal: AbortSignal): Promise<void> {
    const { membership } = this.#options;
    const { identity } = membership;
    await this.#write(shard, identity, signal, () => {
      // The answer may have come after the membership, or as this replica stops.
      if (signal.aborted || membership.identity !== identity) return;
      this.#owned.add(shard);
      void this.announce();
    });
    this.#claimNext(signal);
  }

  async #release(shards: readonly number[], signal: AbortSignal): Promise<void> {
    const { membership, writesAtATime } = this.#options;
    const { identity } = membership;
    const left = shards.values();
    if (!(await this.announce())) {
      for (const shard of shards) this.#busy.delete(shard);
      this.#wait();
      return;
    }
    const some = async () => {
      for (const shard of left) {
        if (!signal.aborted && membership.identity === identity) await this.#write(shard, undefined, signal);
        this.#busy.delete(shard);
      }
    };
    await Promise.all(Array.from({ length: writesAtATime }, some));
    this.#options.onChange();
  }

  async #write(
    shard: number,
    holder: string | undefined,
    signal: AbortSignal,
    onAnswer?: () => void,
  ): Promise<void> {
    const { cluster, group, clock, timings, view, log } = this.#options;
    const before = view.shard(shard);
    const basis = { version: versionOf(before), sinceMs: clock.monotonicMs() };
    const name = shardLeaseName(group, shard);
    const lease = leaseText({ group, role: "shard", name, holder, nowMs: clock.now(), before });
    try {
      await withRequestTimeout(clock, timings.requestTimeoutMs, signal, (bound) =>
        before
          ? cluster.replace(KINDS.lease, { namespace: cluster.namespace, name }, lease, ShareLease, bound)
          : cluster.create(KINDS.lease, cluster.namespace, lease, ShareLease, bound),
      );
      this.#basis.set(shard, basis);
      if (this.#problem !== undefined) log.info({}, "lane rebalancing recovered");
      this.#problem = undefined;
      onAnswer?.();
    } catch (thrown) {
      if (signal.aborted) return;
      // Somebody was faster, and the watch will say who.
      if (isKubernetesError(thrown, "conflict", "already-exists", "not-found")) {
        this.#basis.set(shard, basis);
      } else {
        const error = textOf(thrown);
        logOutage(
          log,
          this.#problem === undefined,
          { lease: name, error },
          "lane rebalancing failed, retrying",
        );
        this.#problem = error;
        this.#wait();
      }
    } finally {
      this.#busy.delete(shard);
      this.#options.onChange();
    }
  }

  #wait(): void {
    const { clock, timings } = this.#options;
    this.#notBeforeMs = clock.monotonicMs() + timings.retryMs;
    this.#retryAtMs = this.#notBeforeMs;
    this.#options.onChange();
  }
}

/** Of one that there is not: empty. */
function versionOf(lease: ShareLease | undefined): string {
  return lease?.metadata.resourceVersion ?? "";
}
