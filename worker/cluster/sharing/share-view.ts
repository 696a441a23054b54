import { KINDS } from "../client/kinds.ts";
import { type Change, WatchedObjects } from "../client/watched-objects.ts";
import type { SharingOptions } from "./lease-requests.ts";
import { holderOf, ROLE_LABEL, ShareLease, selectorOf, shardNumberOf } from "./share-lease.ts";

export interface ShareViewOptions extends SharingOptions {
  /** Members or shards changed; not called for renewals. Must not throw. */
  readonly onChange: () => void;
  /** A Lease of a member was created or renewed. Must not throw. */
  readonly onRenewal: (leaseName: string) => void;
}

export interface ObservedMember {
  readonly identity: string;
  readonly lease: ShareLease;
  /** When this version of its Lease arrived, by the monotonic clock. */
  readonly changedMs: number;
}

/**
 * The group's Leases. One watch delivers all of them in the order of their writes: a replica that sees a shard's
 * holder has seen that holder join, so a holder that is not a member has left.
 */
export class ShareView {
  readonly #options: ShareViewOptions;
  readonly #objects: WatchedObjects<ShareLease>;
  readonly #members = new Map<string, ObservedMember>();
  readonly #shards = new Map<number, ShareLease>();
  #identities: ReadonlySet<string> = new Set();

  constructor(options: ShareViewOptions) {
    this.#options = options;
    const { cluster, group, clock, log } = options;
    this.#objects = new WatchedObjects({
      cluster,
      kind: KINDS.lease,
      selection: { namespace: cluster.namespace, labelSelector: selectorOf(group, "member", "shard") },
      project: (object) => ShareLease.safeParse(object).data,
      onChange: (change) => this.#update(change),
      clock,
      log,
    });
  }

  /** Resolves after the first list; rejects if `run` ends before. */
  get synced(): Promise<void> {
    return this.#objects.synced;
  }

  /** Why the view may be stale. */
  get problem(): string | undefined {
    const { state } = this.#objects;
    return state.kind === "failing" ? state.error.message : undefined;
  }

  get members(): ReadonlyMap<string, ObservedMember> {
    return this.#members;
  }

  has(identity: string): boolean {
    return this.#identities.has(identity);
  }

  shard(shard: number): ShareLease | undefined {
    return this.#shards.get(shard);
  }

  get shards(): ReadonlyMap<number, ShareLease> {
    return this.#shards;
  }

  /** Restarts all silence timers, because the watch itself was silent. */
  restartSilences(): void {
    const changedMs = this.#options.clock.monotonicMs();
    for (const [name, member] of this.#members) this.#members.set(name, { ...member, changedMs });
  }

  restartSilence(leaseName: string): void {
    const member = this.#members.get(leaseName);
    if (member) this.#members.set(leaseName, { ...member, changedMs: this.#options.clock.monotonicMs() });
  }

  /** Runs until the signal aborts; a further run resumes. Never rejects. */
  run(signal: AbortSignal): Promise<void> {
    return this.#objects.run(signal);
  }

  #update(change: Change<ShareLease>): void {
    const present = change.kind === "set";
    const lease = present ? change.value : change.before;
    if (lease.metadata.labels?.[ROLE_LABEL] === "member") this.#takeMember(lease, present);
    else this.#takeShard(lease, present);
  }

  #takeMember(lease: ShareLease, present: boolean): void {
    const { name, resourceVersion } = lease.metadata;
    const seen = this.#members.get(name);
    // A repeated list repeats known Leases: not a renewal.
    if (present && seen?.lease.metadata.resourceVersion === resourceVersion) return;
    const identity = present ? holderOf(lease) : undefined;
    const before = seen?.identity;
    if (identity === undefined) this.#members.delete(name);
    else this.#members.set(name, { identity, lease, changedMs: this.#options.clock.monotonicMs() });
    if (identity !== before) {
      this.#identities = new Set([...this.#members.values()].map((member) => member.identity));
      this.#options.onChange();
    }
    if (present) this.#options.onRenewal(name);
  }

  #takeShard(lease: ShareLease, present: boolean): void {
    const shard = shardNumberOf(this.#options.group, lease);
    if (shard === undefined) return;
    const seen = this.#shards.get(shard)?.metadata.resourceVersion;
    if (present && seen === lease.metadata.resourceVersion) return;
    if (present) this.#shards.set(shard, lease);
    else this.#shards.delete(shard);
    this.#options.onChange();
  }
}
