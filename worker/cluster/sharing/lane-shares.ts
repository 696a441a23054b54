import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { assignShards } from "./assign-shards.ts";
import { Bell } from "./bell.ts";
import { bounded } from "./bounded.ts";
import { CertainTime } from "./certain-time.ts";
import { DeathWatch } from "./death-watch.ts";
import { JoinQuiet } from "./join-quiet.ts";
import { Membership } from "./membership.ts";
import { ShardOwner } from "./shard-owner.ts";
import { SHARDS, shardOf, shardSizes } from "./shards.ts";
import type { ShareCluster } from "./share-lease.ts";
import { ShareView } from "./share-view.ts";
import { TIMINGS, type Timings } from "./timings.ts";

export interface LaneSharesOptions {
  readonly cluster: ShareCluster;
  /** Which replicas share with each other: those of the same name in the same namespace. */
  readonly group: string;
  /** This replica's name, the same after a restart and no other's: the pod's name. */
  readonly member: string;
  /** All that there are, whoever owns them: the same at every replica. */
  readonly agentIds: () => readonly string[];
  /**
   * Polls as those that it owns and no others, from now on. Resolves when nothing is asked for as any other; actions under way
   * may go on.
   */
  readonly onOwned: (owns: (agentId: string) => boolean) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  readonly timings?: Timings;
  /** The same at every replica of the group, for good. */
  readonly shards?: number;
  /** What the clock may miss, see `CertainTime`. */
  readonly time?: CertainTime;
}

/** What health and metrics tell of the sharing. */
export interface SharesState {
  /** Certainly a member now; otherwise it owns nothing. */
  readonly valid: boolean;
  /** Replicas that this one knows of, with itself. */
  readonly members: number;
  readonly ownedShards: number;
  /** Those that have agent IDs. */
  readonly shards: number;
  readonly ownedAgentIds: number;
  readonly agentIds: number;
  /** Why it may own less than it should, in one line. */
  readonly problem: string | undefined;
}

/** How many writes to shards are under way at a time: a replica that takes over hundreds is not to keep an API server busy. */
const WRITES_AT_A_TIME = 8;
const IDLE_MS = 60_000;
/** Changes come in swarms: who is to own what is reckoned once for those of a moment. */
const PLAN_PAUSE_MS = 50;

/**
 * Shares the agent IDs among the replicas of a group: each has one owner. A member has one Lease that it renews; a shard has
 * one that is written when its owner changes, and is worth as much as its owner's membership. See docs/explanation/scaling.md.
 */
export class LaneShares {
  readonly #options: LaneSharesOptions;
  readonly #timings: Timings;
  readonly #shardCount: number;
  readonly #bell = new Bell();
  readonly #membership: Membership;
  readonly #view: ShareView;
  readonly #joins: JoinQuiet;
  readonly #deaths: DeathWatch;
  readonly #owner: ShardOwner;
  readonly #listeners = new Set<() => void>();
  #watching = new AbortController();
  #sizes: ReadonlyMap<number, number> = new Map();
  /** Something has changed that who owns what depends on. */
  #isDue = true;
  #plannedMs = Number.NEGATIVE_INFINITY;
  #wasValid = false;
  #identity: string;
  #isStopped = false;
  #told = "";

  constructor(options: LaneSharesOptions) {
    this.#options = options;
    this.#timings = options.timings ?? TIMINGS;
    this.#shardCount = options.shards ?? SHARDS;
    const { cluster, group, member, clock, log, random = Math.random } = options;
    const timings = this.#timings;
    const time = options.time ?? new CertainTime(clock);
    const ring = () => this.#bell.ring();
    this.#membership = new Membership({
      cluster,
      group,
      member,
      clock,
      time,
      log,
      random,
      timings,
      onChange: () => {
        this.#noteIdentity();
        ring();
      },
    });
    this.#identity = this.#membership.identity;
    this.#view = new ShareView({
      cluster,
      group,
      clock,
      log,
      onChange: () => {
        this.#isDue = true;
        for (const listener of this.#listeners) listener();
        ring();
      },
      onSign: (leaseName) => {
        if (leaseName === this.#membership.leaseName) this.#deaths.heard();
      },
    });
    this.#joins = new JoinQuiet(clock, timings);
    this.#deaths = new DeathWatch({
      cluster,
      clock,
      log,
      random,
      timings,
      view: this.#view,
      membership: this.#membership,
      onDeaf: () => this.#watching.abort(new Error("the watch receives no events")),
    });
    this.#owner = new ShardOwner({
      cluster,
      group,
      clock,
      log,
      timings,
      view: this.#view,
      membership: this.#membership,
      writesAtATime: WRITES_AT_A_TIME,
      announce: () => this.#announce(),
      onChange: () => {
        this.#isDue = true;
        ring();
      },
    });
    this.agentIdsChanged();
  }

  get group(): string {
    return this.#options.group;
  }

  /** Who this replica is in its group now; another one after it was deposed. */
  get identity(): string {
    return this.#membership.identity;
  }

  get isValid(): boolean {
    return !this.#isStopped && this.#membership.isValid;
  }

  /**
   * Whether this replica, and no other, may ask for and begin actions of the agent ID, right now: ask before each
   * request and again before what came of it is begun, as the process may have been stopped in between.
   */
  owns(agentId: string): boolean {
    return this.#owner.has(shardOf(agentId, this.#shardCount)) && this.isValid;
  }

  /** Whether a replica of that identity is, as far as is known here, a member. */
  isMember(identity: string): boolean {
    return identity === this.identity ? this.isValid : this.#view.has(identity);
  }

  /** Calls when members have come or gone, or shards; gives what ends that. */
  onMembersChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** `agentIds` gives others than before. */
  agentIdsChanged(): void {
    this.#sizes = shardSizes(this.#options.agentIds(), this.#shardCount);
    this.#isDue = true;
    this.#bell.ring();
    // A shard that stays may have got agent IDs or lost them.
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

  /** Shares until the signal aborts; then gives everything up, within a few seconds. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const beside = [this.#join(stop.signal), this.#watch(stop.signal)];
    while (!stop.signal.aborted) {
      const waitMs = this.#step(stop.signal);
      await this.#bell.wait(waitMs, this.#options.clock, stop.signal);
    }
    signal.removeEventListener("abort", onAbort);
    await this.#giveUp();
    await Promise.all(beside);
  }

  /** What is due now; gives the time until something else is. */
  #step(signal: AbortSignal): number {
    const validForMs = this.#membership.validForMs;
    this.#noteValidity(validForMs > 0);
    const waits = [validForMs > 0 ? validForMs : IDLE_MS];
    if (validForMs > 0) {
      const known = this.#view.members.get(this.#membership.leaseName);
      if (!known) this.#joins.forget();
      const joins = this.#joins.look([...this.#view.members.values()].map(({ identity }) => identity));
      if (joins.changed) this.#isDue = true;
      waits.push(joins.waitMs, this.#deaths.step(signal), this.#owner.retryInMs);
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
    // Those of a member that is not counted yet are nobody else's to take: `ShardOwner` sees to that.
    const targets = assignShards(this.#sizes.keys(), members, holder);
    const own = new Set<number>();
    for (const [shard, target] of targets) if (target === this.#identity) own.add(shard);
    this.#owner.aim(own, signal);
    this.#tell(members.length, own.size);
  }

  #noteValidity(isValid: boolean): void {
    if (isValid === this.#wasValid) return;
    this.#wasValid = isValid;
    const { log } = this.#options;
    const shards = this.#owner.owned.size;
    if (shards === 0) return;
    if (!isValid) log.error({ shards }, "lease expired, lanes paused");
    else log.info({ shards }, "lanes resumed");
    void this.#owner.announce();
  }

  #tell(members: number, shards: number): void {
    const told = `${members} ${shards}`;
    if (told === this.#told) return;
    this.#told = told;
    this.#options.log.info({ members, shards, of: this.#sizes.size }, "lanes distributed");
  }

  /** Not before it sees the others: they would leave its part to one that cannot take it. */
  async #join(signal: AbortSignal): Promise<void> {
    const isSynced = await this.#view.synced.then(
      () => true,
      () => false,
    );
    if (isSynced) await this.#membership.run(signal);
  }

  /** All at once, so that no clock is read for each of a hundred thousand. */
  #announce(): Promise<void> {
    const owned = new Set(this.isValid ? this.#owner.owned : []);
    return this.#options.onOwned((agentId) => owned.has(shardOf(agentId, this.#shardCount)));
  }

  /** What was owned under another identity is anybody's. */
  #noteIdentity(): void {
    if (this.#membership.identity === this.#identity) return;
    this.#identity = this.#membership.identity;
    this.#isDue = true;
    this.#owner.loseAll();
  }

  /** A watch whose socket is dead says nothing, while own renewals go through: then it is begun anew. */
  async #watch(signal: AbortSignal): Promise<void> {
    const end = () => this.#watching.abort(signal.reason);
    signal.addEventListener("abort", end, { once: true });
    while (!signal.aborted) {
      this.#watching = new AbortController();
      await this.#view.run(this.#watching.signal);
    }
    signal.removeEventListener("abort", end);
  }

  async #giveUp(): Promise<void> {
    const { clock, log } = this.#options;
    this.#isStopped = true;
    this.#owner.loseAll();
    const quiet = this.#owner.announce();
    const stopped = bounded(clock, this.#timings.stopMs, new AbortController().signal, () => quiet);
    if (!(await stopped.catch(() => false))) {
      // Whoever takes over while a lane still asks would not be alone: the Lease may run out instead.
      log.warn({}, "lanes not stopped in time, leaving lease to expire");
      return;
    }
    await this.#membership.leave();
  }
}
