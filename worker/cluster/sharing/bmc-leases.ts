import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { ActedElsewhere, type LockPurpose, type Locks, MachineLocks } from "../../turns/machine-locks.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError, KubernetesError } from "../client/kubernetes-error.ts";
import { WatchedObjects } from "../client/watched-objects.ts";
import { bounded } from "./bounded.ts";
import { actionEnded, activeKeys, isActionActive } from "./held-jobs.ts";
import type { LaneShares } from "./lane-shares.ts";
import {
  actionOf,
  bmcLeaseName,
  findLease,
  holderOf,
  leaseText,
  memberLeaseName,
  memberOf,
  type ShareCluster,
  ShareLease,
  selectorOf,
} from "./share-lease.ts";
import { TIMINGS, type Timings } from "./timings.ts";

export interface BmcLeasesOptions {
  readonly cluster: ShareCluster;
  readonly shares: Pick<LaneShares, "group" | "identity" | "isValid" | "isMember" | "onMembersChanged">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timings?: Timings;
}

interface Claimant {
  readonly identity: string;
  readonly actionKey: string | undefined;
  readonly signal: AbortSignal;
}

/** Machines' names are locked too, for an address that changes under way: that is one replica's matter, as its lane is. */
const SHARED_KEY = /^bmc /;
const RETRY_LONGEST_MS = 30_000;

/**
 * Turns at BMCs, as `MachineLocks` has them, for all replicas of a group: agent IDs of two replicas may mean the same BMC. A
 * replica's own actions queue at home, and the first of them makes a Lease for its time: two requests an action.
 */
export class BmcLeases implements Locks {
  readonly #options: BmcLeasesOptions;
  readonly #timings: Timings;
  readonly #local = new MachineLocks();
  /** Being given back. */
  readonly #releases = new Set<Promise<void>>();
  /** Given back a while longer than this, they are left to whoever needs them. */
  readonly #end = new AbortController();
  #isStopping = false;

  constructor(options: BmcLeasesOptions) {
    this.#options = options;
    this.#timings = options.timings ?? TIMINGS;
  }

  /**
   * Waits for its turn at `key`; resolves to what gives the turn back. Rejects when the signal aborts, with `ActedElsewhere`, and
   * with a `KubernetesError` that does not pass by itself.
   */
  async acquire(key: string, signal: AbortSignal, purpose: LockPurpose = {}): Promise<() => void> {
    const release = await this.#local.acquire(key, signal);
    if (!SHARED_KEY.test(key)) return release;
    try {
      const lease = await this.#take(key, signal, purpose);
      return () => {
        const given = this.#give(lease).finally(() => {
          this.#releases.delete(given);
          release();
        });
        this.#releases.add(given);
      };
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  /** Sweeps what dead replicas left; ends when the worker is to stop. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    // At once: what is let go of is given back in the same breath.
    const stopped = new Promise<void>((resolve) => {
      const stop = () => {
        this.#isStopping = true;
        resolve();
      };
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true });
    });
    const { leaseDurationMs, renewIntervalMs } = this.#timings;
    // An earlier process of this name has been deposed by then.
    await this.#options.clock.sleep(leaseDurationMs + renewIntervalMs, signal).then(
      () => this.#sweep(signal),
      () => undefined,
    );
    await stopped;
  }

  /** After the last action: gives back what is still held, for a few seconds. Never rejects. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    this.#isStopping = true;
    await bounded(clock, this.#timings.stopMs, new AbortController().signal, () =>
      Promise.all(this.#releases),
    ).catch(() => undefined);
    this.#end.abort(new Error("the worker has stopped"));
  }

  async #take(key: string, signal: AbortSignal, { actionKey }: LockPurpose): Promise<ShareLease> {
    const { cluster, shares, clock, log } = this.#options;
    const name = bmcLeaseName(shares.group, key);
    const at = { namespace: cluster.namespace, name };
    const mine = (holder: string, before?: ShareLease) =>
      leaseText({ group: shares.group, role: "bmc", name, holder, nowMs: clock.now(), actionKey, before });
    let isThere = false;
    let failures = 0;
    for (;;) {
      signal.throwIfAborted();
      // What a deposed replica holds is anybody's: it takes nothing before it is a member again.
      if (!shares.isValid) {
        await clock.sleep(this.#timings.retryMs, signal);
        continue;
      }
      const { identity } = shares;
      const certain = (lease: ShareLease) =>
        shares.isValid && shares.identity === identity ? lease : undefined;
      try {
        if (!isThere) {
          const own = certain(await this.#create(mine(identity), signal));
          if (own) return own;
        }
        isThere = true;
        const lease = await this.#ask(signal, (bound) => findLease(cluster, name, bound));
        const judged = lease ? await this.#judge(lease, { identity, actionKey, signal }) : "changed";
        if (lease && judged === "mine") return lease;
        if (lease && judged === "free") {
          const own = certain(
            await this.#ask(signal, (bound) =>
              cluster.replace(KINDS.lease, at, mine(identity, lease), ShareLease, bound),
            ),
          );
          if (own) return own;
        } else isThere = false;
      } catch (thrown) {
        if (signal.aborted) throw signal.reason;
        // Whether somebody was faster, or an answer was lost: the next round looks.
        isThere = true;
        if (isKubernetesError(thrown, "already-exists", "conflict", "not-found")) continue;
        if (!(thrown instanceof KubernetesError) || !thrown.passing) throw thrown;
        failures += 1;
        logOutage(
          log,
          failures === 1,
          { lease: name, error: thrown.message },
          "BMC lease acquisition failed, retrying",
        );
        await clock.sleep(Math.min(this.#timings.retryMs * 2 ** failures, RETRY_LONGEST_MS), signal);
      }
    }
  }

  #create(text: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ShareLease> {
    const { cluster } = this.#options;
    return this.#ask(signal, (bound) =>
      cluster.create(KINDS.lease, cluster.namespace, text, ShareLease, bound),
    );
  }

  /** What to do about the Lease that there is: it is this turn's, it may be taken over, or it was waited for. */
  async #judge(
    lease: ShareLease,
    { identity, actionKey, signal }: Claimant,
  ): Promise<"mine" | "free" | "changed"> {
    const { cluster, clock, log } = this.#options;
    const holder = holderOf(lease);
    const heldKey = actionOf(lease);
    // An own request whose answer was lost: at home nobody else has this turn.
    if (holder === identity) return heldKey === actionKey ? "mine" : "free";
    if (holder !== undefined && (await this.#isAlive(holder, signal))) {
      await this.#changed(lease, holder, signal);
      if (heldKey !== undefined && heldKey === actionKey && !this.#isDead(holder)) throw new ActedElsewhere();
      return "changed";
    }
    if (heldKey === undefined || heldKey === actionKey) return "free";
    if (await this.#ask(signal, (bound) => isActionActive(cluster, heldKey, bound))) {
      log.info({ lease: lease.metadata.name }, "BMC in use by a Job of a gone replica, waiting");
      await actionEnded({ cluster, clock, log }, heldKey, signal);
      return "changed";
    }
    return "free";
  }

  #isDead(holder: string): boolean {
    return !this.#options.shares.isMember(holder);
  }

  /** One that the own watch does not show may have joined a moment ago: a list is never behind. */
  async #isAlive(holder: string, signal: AbortSignal): Promise<boolean> {
    const { cluster, shares } = this.#options;
    if (shares.isMember(holder)) return true;
    const name = memberLeaseName(shares.group, memberOf(holder));
    const found = await this.#ask(signal, (bound) => findLease(cluster, name, bound));
    return found !== undefined && holderOf(found) === holder;
  }

  /** Resolves when the Lease is another's, or gone, or its holder is. Rejects with the signal's reason. */
  async #changed(lease: ShareLease, holder: string, signal: AbortSignal): Promise<void> {
    const { cluster, shares, clock, log } = this.#options;
    const { name, uid } = lease.metadata;
    const changed = new AbortController();
    const stop = () => changed.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    let wasMember = shares.isMember(holder);
    const unlisten = shares.onMembersChanged(() => {
      const isMember = shares.isMember(holder);
      if (wasMember && !isMember) stop();
      wasMember = isMember;
    });
    const leases = new WatchedObjects<ShareLease>({
      cluster,
      kind: KINDS.lease,
      selection: { namespace: cluster.namespace, fieldSelector: `metadata.name=${name}` },
      project: (object) => ShareLease.safeParse(object).data,
      onChange: () => look(),
      clock,
      log,
    });
    const look = () => {
      const now = leases.get({ namespace: cluster.namespace, name });
      if (leases.isSynced && (now?.metadata.uid !== uid || holderOf(now) !== holder)) stop();
    };
    leases.synced.then(look, () => undefined);
    try {
      await leases.run(changed.signal);
    } finally {
      unlisten();
      signal.removeEventListener("abort", stop);
    }
    signal.throwIfAborted();
  }

  /** Gives a turn back, however long it takes; one that somebody took over meanwhile is theirs. Never rejects. */
  async #give({ metadata, ...rest }: ShareLease): Promise<void> {
    const { cluster, clock, log } = this.#options;
    const { name, uid, resourceVersion } = metadata;
    const { signal } = this.#end;
    const actionKey = actionOf({ metadata, ...rest });
    for (let failures = 0; !signal.aborted; ) {
      try {
        // A worker that stops lets go of actions that run on: their turn is for whoever takes them over.
        if (this.#isStopping && actionKey !== undefined) {
          if (await this.#ask(signal, (bound) => isActionActive(cluster, actionKey, bound))) return;
        }
        const at = { namespace: cluster.namespace, name };
        await this.#ask(signal, (bound) => cluster.remove(KINDS.lease, at, { uid, resourceVersion }, bound));
        return;
      } catch (thrown) {
        if (signal.aborted || isKubernetesError(thrown, "conflict")) return;
        failures += 1;
        const error = textOf(thrown);
        logOutage(log, failures === 1, { lease: name, error }, "BMC lease release failed, retrying");
        await clock
          .sleep(Math.min(this.#timings.retryMs * 2 ** failures, RETRY_LONGEST_MS), signal)
          .catch(() => undefined);
      }
    }
  }

  /** Leases of replicas that are gone, whose actions are done: nobody may ever ask for these BMCs again. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const { cluster, shares, log } = this.#options;
    const { namespace } = cluster;
    const list = (role: "bmc" | "member") =>
      this.#ask(signal, (bound) =>
        cluster.list(
          KINDS.lease,
          { namespace, labelSelector: selectorOf(shares.group, role) },
          ShareLease,
          bound,
        ),
      );
    try {
      // In this order: a holder that is not among the members now was there before and has left.
      const { items } = await list("bmc");
      if (items.length === 0) return;
      const members = new Set((await list("member")).items.map(holderOf));
      const left = items.filter((lease) => !members.has(holderOf(lease)));
      const active =
        left.length === 0
          ? new Set<string>()
          : await this.#ask(signal, (bound) => activeKeys(cluster, bound));
      let swept = 0;
      for (const lease of left) {
        if (active.has(actionOf(lease) ?? "")) continue;
        const { name, uid, resourceVersion } = lease.metadata;
        const at = { namespace, name };
        if (
          await this.#ask(signal, (bound) => cluster.remove(KINDS.lease, at, { uid, resourceVersion }, bound))
        )
          swept += 1;
      }
      if (swept > 0) log.info({ leases: swept }, "expired BMC leases removed");
    } catch (thrown) {
      // Somebody else is at it, or the next start is; each of these is looked at by whoever needs its BMC, too.
      const error = textOf(thrown);
      if (!signal.aborted) log.debug({ error }, "expired BMC lease removal failed");
    }
  }

  #ask<T>(signal: AbortSignal, work: (bound: AbortSignal) => Promise<T>): Promise<T> {
    return bounded(this.#options.clock, this.#timings.requestTimeoutMs, signal, work);
  }
}
