import { logOutage } from "../../../shared/log-outage.ts";
import { textOf } from "../../../shared/text-of.ts";
import { isKubernetesError } from "../client/kubernetes-error.ts";
import type { SharingOptions } from "./lease-requests.ts";
import type { Membership } from "./membership.ts";
import { holderOf, type ShareLease, shardLeaseName } from "./share-lease.ts";
import type { ShareView } from "./share-view.ts";

export interface ShardOwnerOptions extends SharingOptions {
  readonly view: ShareView;
  readonly membership: Pick<Membership, "identity" | "isValid">;
  /** Tells the lanes what is owned; resolves when no poll for anything else is in flight. */
  readonly announce: () => Promise<void>;
  readonly onChange: () => void;
}

/** Limits the load on the API server when a replica takes over hundreds of shards. */
const WRITES_AT_A_TIME = 8;

/**
 * The shards that this replica owns: from the API's confirmation of the claim until their release or an eviction. The
 * watch only shows which claims to try; each claim is a write to the exact version that was seen to be free.
 */
export class ShardOwner {
  readonly #options: ShardOwnerOptions;
  readonly #owned = new Set<number>();
  readonly #busy = new Set<number>();
  /** The version that a write replaced, and when: the watch has not shown the result yet. */
  readonly #basis = new Map<number, { readonly version: string; readonly sinceMs: number }>();
  #targets: ReadonlySet<number> = new Set();
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

  get problem(): string | undefined {
    return this.#problem;
  }

  get retryInMs(): number {
    return this.#retryAtMs - this.#options.clock.monotonicMs();
  }

  has(shard: number): boolean {
    return this.#owned.has(shard);
  }

  /** Undefined if the shard is free. The holder may have left. */
  holderOf(shard: number): string | undefined {
    if (this.#owned.has(shard)) return this.#options.membership.identity;
    const seen = this.#options.view.shard(shard);
    return seen && holderOf(seen);
  }

  /** Drops all shards, after an eviction or before leaving. */
  dropAll(): void {
    if (this.#owned.size === 0) return;
    this.#owned.clear();
    void this.announce();
  }

  /**
   * Tells the lanes, one call at a time. Resolves to whether everything lost before the call has stopped polling.
   * Never rejects.
   */
  announce(): Promise<boolean> {
    if (this.#next !== undefined) return this.#next;
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

  /** Claims these shards as they become free, and releases all others. */
  setTargets(shards: ReadonlySet<number>, signal: AbortSignal): void {
    const { clock, membership, view } = this.#options;
    this.#targets = shards;
    this.#dropForeignShards();
    if (!membership.isValid || clock.monotonicMs() < this.#notBeforeMs) return;
    this.#retryAtMs = Number.POSITIVE_INFINITY;
    const releases = [...this.#owned].filter((shard) => !shards.has(shard) && !this.#busy.has(shard));
    for (const [shard, lease] of view.shards) {
      // Held by us through a write whose response was lost.
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
    const { membership, view } = this.#options;
    if (!membership.isValid || signal.aborted || this.retryInMs < Number.POSITIVE_INFINITY) return;
    for (const shard of this.#targets) {
      if (this.#busy.size >= WRITES_AT_A_TIME) return;
      if (this.#owned.has(shard) || !this.#isSettled(shard)) continue;
      const holder = this.holderOf(shard);
      if (holder !== undefined && holder !== membership.identity && view.has(holder)) continue;
      this.#busy.add(shard);
      void this.#claim(shard, signal);
    }
  }

  /** Whether the watch has shown the result of the last write. */
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

  /** Something other than a replica changed the Leases: stop using the shards. */
  #dropForeignShards(): void {
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
      // The response may be late: the identity has changed, or the worker stops.
      if (signal.aborted || membership.identity !== identity) return;
      this.#owned.add(shard);
      void this.announce();
    });
    this.#claimNext(signal);
  }

  async #release(shards: readonly number[], signal: AbortSignal): Promise<void> {
    const { membership } = this.#options;
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
    await Promise.all(Array.from({ length: WRITES_AT_A_TIME }, some));
    this.#options.onChange();
  }

  async #write(
    shard: number,
    holder: string | undefined,
    signal: AbortSignal,
    onAnswer?: () => void,
  ): Promise<void> {
    const { leases, group, clock, view, log } = this.#options;
    const before = view.shard(shard);
    const basis = { version: versionOf(before), sinceMs: clock.monotonicMs() };
    const name = shardLeaseName(group, shard);
    try {
      await leases.write({ group, role: "shard", name, holder, nowMs: clock.now(), before }, signal);
      this.#basis.set(shard, basis);
      if (this.#problem !== undefined) log.info({}, "lane rebalancing recovered");
      this.#problem = undefined;
      onAnswer?.();
    } catch (thrown) {
      if (signal.aborted) return;
      // Another replica was faster; the watch will show it.
      if (isKubernetesError(thrown, "conflict", "already-exists", "not-found")) {
        this.#basis.set(shard, basis);
      } else {
        const facts = { lease: name, error: textOf(thrown) };
        logOutage(log, this.#problem === undefined, facts, "lane rebalancing failed, retrying");
        this.#problem = facts.error;
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

function versionOf(lease: ShareLease | undefined): string {
  return lease?.metadata.resourceVersion ?? "";
}
