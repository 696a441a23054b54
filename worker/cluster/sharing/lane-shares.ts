import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { Notifier } from "../../../shared/notifier.ts";
import { assignShards } from "./assign-shards.ts";
import { ElapsedTime } from "./elapsed-time.ts";
import { FailureDetector } from "./failure-detector.ts";
import { JoinDebouncer } from "./join-debouncer.ts";
import { leaseRequests, withRequestTimeout } from "./lease-requests.ts";
import { Membership } from "./membership.ts";
import { ShardOwner } from "./shard-owner.ts";
import { SHARDS, shardOf, shardSizes } from "./shards.ts";
import type { ShareCluster } from "./share-lease.ts";
import { ShareView } from "./share-view.ts";
import { TIMINGS, type Timings } from "./timings.ts";

export interface LaneSharesOptions {
  readonly cluster: ShareCluster;
  readonly group: string;
  /** This replica's unique name, the same after a restart: the pod's name. */
  readonly member: string;
  readonly agentIds: () => readonly string[];
  /**
   * Starts polling for the owned agent IDs and stops for all others. Resolves when no poll for the others is in
   * flight; running actions may continue.
   */
  readonly onOwned: (owns: (agentId: string) => boolean) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  readonly timings?: Timings;
  /** The same at every replica of the group; never change it. */
  readonly shards?: number;
  readonly time?: ElapsedTime;
}

export interface SharesState {
  readonly valid: boolean;
  /** Known replicas, including this one. */
  readonly members: number;
  readonly ownedShards: number;
  readonly shards: number;
  readonly ownedAgentIds: number;
  readonly agentIds: number;
  readonly problem: string | undefined;
}

const IDLE_MS = 60_000;
/** Changes come in bursts: they are planned for together. */
const PLAN_PAUSE_MS = 50;

/**
 * Distributes the agent IDs among the replicas of a group, so that each has one owner. Each member renews one Lease.
 * Each shard has a Lease that is written when its owner changes and is valid as long as that owner is a member. See
 * docs/explanation/scaling.md.
 */
export class LaneShares {
  readonly #options: LaneSharesOptions;
  readonly #timings: Timings;
  readonly #shardCount: number;
  readonly #notifier = new Notifier();
  readonly #membership: Membership;
  readonly #view: ShareView;
  readonly #debouncer: JoinDebouncer;
  readonly #detector: FailureDetector;
  readonly #owner: ShardOwner;
  readonly #listeners = new Set<() => void>();
  #watching = new AbortController();
  #sizes: ReadonlyMap<number, number> = new Map();
  #isDue = true;
  #plannedMs = Number.NEGATIVE_INFINITY;
  #wasValid = false;
  #identity: string;
  #isStopped = false;
  #logged = "";

  constructor(options: LaneSharesOptions) {
    this.#options = options;
    this.#timings = options.timings ?? TIMINGS;
    this.#shardCount = options.shards ?? SHARDS;
    const { cluster, group, member, clock, log, random = Math.random } = options;
    const timings = this.#timings;
    const leases = leaseRequests(cluster, clock, timings.requestTimeoutMs);
    const common = { cluster, leases, group, clock, log, random, timings };
    const notify = () => this.#notifier.notify();
    this.#membership = new Membership({
      ...common,
      member,
      time: options.time ?? new ElapsedTime(clock),
      onChange: () => {
        this.#updateIdentity();
        notify();
      },
    });
    this.#identity = this.#membership.identity;
    this.#view = new ShareView({
      ...common,
      onChange: () => {
        this.#isDue = true;
        for (const listener of this.#listeners) listener();
        notify();
      },
      onRenewal: (leaseName) => {
        if (leaseName === this.#membership.leaseName) this.#detector.renewalSeen();
      },
    });
    this.#debouncer = new JoinDebouncer(clock, timings);
    this.#detector = new FailureDetector({
      ...common,
      view: this.#view,
      membership: this.#membership,
      onWatchStalled: () => this.#watching.abort(new Error("the watch receives no events")),
    });
    this.#owner = new ShardOwner({
      ...common,
      view: this.#view,
      membership: this.#membership,
      announce: () => this.#announce(),
      onChange: () => {
        this.#isDue = true;
        notify();
      },
    });
    this.agentIdsChanged();
  }

  get group(): string {
    return this.#options.group;
  }

  /** Changes when the replica is evicted. */
  get identity(): string {
    return this.#membership.identity;
  }

  get isValid(): boolean {
    return !this.#isStopped && this.#membership.isValid;
  }

  /**
   * Whether this replica alone may poll for the agent ID and start its actions, right now. Check before each request
   * and again before starting an action, because the process may have been paused in between.
   */
  owns(agentId: string): boolean {
    return this.#owner.has(shardOf(agentId, this.#shardCount)) && this.isValid;
  }

  /** Whether that identity is a member, as far as this replica knows. */
  isMember(identity: string): boolean {
    return identity === this.identity ? this.isValid : this.#view.has(identity);
  }

  /** Calls `listener` when members or shards change; returns what unsubscribes it. */
  onMembersChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Call when `agentIds` returns others than before. */
  agentIdsChanged(): void {
    this.#sizes = shardSizes(this.#options.agentIds(), this.#shardCount);
    this.#isDue = true;
    this.#notifier.notify();
    // The agent IDs of an owned shard may have changed.
    if (this.#owner.owned.size > 0) void this.#owner.announce();
  }

  state(): SharesState {
    const valid = this.isValid;
    const owned = valid ? [...this.#owner.owned] : [];
    const sum = (sizes: Iterable<number>) => [...sizes].reduce((all, size) => all + size, 0);
    return {
      valid,
      members: this.#view.members.size,
      ownedShards: owned.length,
      shards: this.#sizes.size,
      ownedAgentIds: sum(owned.map((shard) => this.#sizes.get(shard) ?? 0)),
      agentIds: sum(this.#sizes.values()),
      problem: this.#membership.problem ?? this.#view.problem ?? this.#owner.problem,
    };
  }

  /** Runs until the signal aborts, then releases everything within a few seconds. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const beside = [this.#join(signal), this.#watch(signal)];
    while (!signal.aborted) await this.#notifier.wait(this.#step(signal), this.#options.clock, signal);
    await this.#releaseAll();
    await Promise.all(beside);
  }

  /** Does what is due; returns the time until the next step. */
  #step(signal: AbortSignal): number {
    const validForMs = this.#membership.validForMs;
    this.#logValidity(validForMs > 0);
    const waits = [validForMs > 0 ? validForMs : IDLE_MS];
    if (validForMs > 0) {
      const known = this.#view.members.get(this.#membership.leaseName);
      if (!known) this.#debouncer.forget();
      const joins = this.#debouncer.update([...this.#view.members.values()].map(({ identity }) => identity));
      if (joins.changed) this.#isDue = true;
      waits.push(joins.waitMs, this.#detector.step(signal), this.#owner.retryInMs);
      if (this.#isDue || this.#owner.retryInMs <= 0) {
        const nowMs = this.#options.clock.monotonicMs();
        const pauseMs = this.#plannedMs + PLAN_PAUSE_MS - nowMs;
        if (pauseMs > 0) waits.push(pauseMs);
        else {
          this.#plannedMs = nowMs;
          this.#isDue = false;
          this.#plan(joins.members, signal);
        }
      }
    }
    return Math.max(1, Math.min(...waits));
  }

  #plan(members: readonly string[], signal: AbortSignal): void {
    if (!members.includes(this.#identity)) return;
    const present = new Set(members);
    const holder = (shard: number) => {
      const identity = this.#owner.holderOf(shard);
      return identity !== undefined && present.has(identity) ? identity : undefined;
    };
    // `ShardOwner` leaves shards alone whose holder is a member that does not count yet.
    const targets = assignShards(this.#sizes.keys(), members, holder);
    const own = new Set(
      [...targets].flatMap(([shard, target]) => (target === this.#identity ? [shard] : [])),
    );
    this.#owner.setTargets(own, signal);
    this.#logDistribution(members.length, own.size);
  }

  #logValidity(isValid: boolean): void {
    if (isValid === this.#wasValid) return;
    this.#wasValid = isValid;
    const { log } = this.#options;
    const shards = this.#owner.owned.size;
    if (shards === 0) return;
    if (!isValid) log.error({ shards }, "lease expired, lanes paused");
    else log.info({ shards }, "lanes resumed");
    void this.#owner.announce();
  }

  #logDistribution(members: number, shards: number): void {
    const distribution = `${members} ${shards}`;
    if (distribution === this.#logged) return;
    this.#logged = distribution;
    this.#options.log.info({ members, shards, of: this.#sizes.size }, "lanes distributed");
  }

  /** Joins only after it sees the others: they would reserve its part too early. */
  async #join(signal: AbortSignal): Promise<void> {
    const isSynced = await this.#view.synced.then(
      () => true,
      () => false,
    );
    if (isSynced) await this.#membership.run(signal);
  }

  /** One snapshot, so that the clock is not read for each of 100,000 agent IDs. */
  #announce(): Promise<void> {
    const owned = new Set(this.isValid ? this.#owner.owned : []);
    return this.#options.onOwned((agentId) => owned.has(shardOf(agentId, this.#shardCount)));
  }

  /** Shards of the old identity may already belong to others. */
  #updateIdentity(): void {
    if (this.#membership.identity === this.#identity) return;
    this.#identity = this.#membership.identity;
    this.#isDue = true;
    this.#owner.dropAll();
  }

  /** Restarts the watch when its connection is dead, although renewals succeed. */
  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#watching = new AbortController();
      await this.#view.run(AbortSignal.any([signal, this.#watching.signal]));
    }
  }

  async #releaseAll(): Promise<void> {
    const { clock, log } = this.#options;
    this.#isStopped = true;
    this.#owner.dropAll();
    const quiet = this.#owner.announce();
    const never = new AbortController().signal;
    const stopped = withRequestTimeout(clock, this.#timings.stopMs, never, () => quiet);
    if (!(await stopped.catch(() => false))) {
      // A lane may still be polling, so that the next owner would not be alone.
      log.warn({}, "lanes not stopped in time, leaving lease to expire");
      return;
    }
    await this.#membership.leave();
  }
}
