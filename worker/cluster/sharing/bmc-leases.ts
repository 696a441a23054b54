import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { ActedElsewhere, type LockPurpose, type Locks, MachineLocks } from "../../turns/machine-locks.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError, KubernetesError } from "../client/kubernetes-error.ts";
import { WatchedObjects } from "../client/watched-objects.ts";
import { actionEnded, activeActionKeys, isActionActive } from "./active-jobs.ts";
import type { LaneShares } from "./lane-shares.ts";
import { withRequestTimeout } from "./request-timeout.ts";
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

/** Locks by machine name (for an address that changes) stay local, because each lane belongs to one replica. */
const SHARED_KEY = /^bmc /;
const RETRY_LONGEST_MS = 30_000;

/**
 * `MachineLocks` for all replicas of a group, because agent IDs of two replicas may mean the same BMC. A replica's
 * actions queue locally; the first one creates a Lease, which costs two requests per action.
 */
export class BmcLeases implements Locks {
  readonly #options: BmcLeasesOptions;
  readonly #timings: Timings;
  readonly #local = new MachineLocks();
  /** Pending releases. */
  readonly #releases = new Set<Promise<void>>();
  /** Aborts pending releases after the worker has stopped. */
  readonly #end = new AbortController();
  #isStopping = false;

  constructor(options: BmcLeasesOptions) {
    this.#options = options;
    this.#timings = options.timings ?? TIMINGS;
  }

  /**
   * Resolves to the function that releases the lock. Rejects when the signal aborts, with `ActedElsewhere`, and with a
   * `KubernetesError` that is not transient.
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

  /** Removes Leases of dead replicas; ends when the worker stops. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    // Set at once, because detached actions release their locks right after.
    const stopped = new Promise<void>((resolve) => {
      const stop = () => {
        this.#isStopping = true;
        resolve();
      };
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true });
    });
    const { leaseDurationMs, renewIntervalMs } = this.#timings;
    // By then an earlier process with this name has been evicted.
    await this.#options.clock.sleep(leaseDurationMs + renewIntervalMs, signal).then(
      () => this.#sweep(signal),
      () => undefined,
    );
    await stopped;
  }

  /** Call after the last action. Waits a few seconds for pending releases. Never rejects. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    this.#isStopping = true;
    await withRequestTimeout(clock, this.#timings.stopMs, new AbortController().signal, () =>
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
      // An evicted replica acquires nothing until it has rejoined.
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
        // Another replica was faster, or a response was lost: the next round finds out.
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

  /** Whether the existing Lease is ours, can be taken over, or changed while this waited. */
  async #judge(
    lease: ShareLease,
    { identity, actionKey, signal }: Claimant,
  ): Promise<"mine" | "free" | "changed"> {
    const { cluster, clock, log } = this.#options;
    const holder = holderOf(lease);
    const heldKey = actionOf(lease);
    // Our own request whose response was lost: locally, only this caller has the lock.
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

  /** A member that our watch does not show may have just joined; a list is never stale. */
  async #isAlive(holder: string, signal: AbortSignal): Promise<boolean> {
    const { cluster, shares } = this.#options;
    if (shares.isMember(holder)) return true;
    const name = memberLeaseName(shares.group, memberOf(holder));
    const found = await this.#ask(signal, (bound) => findLease(cluster, name, bound));
    return found !== undefined && holderOf(found) === holder;
  }

  /** Resolves when the Lease changes its holder or is gone, or its holder is gone. Rejects with the signal's reason. */
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

  /** Releases a Lease, retrying until `close`. A Lease that another replica took over is left to it. Never rejects. */
  async #give({ metadata, ...rest }: ShareLease): Promise<void> {
    const { cluster, clock, log } = this.#options;
    const { name, uid, resourceVersion } = metadata;
    const { signal } = this.#end;
    const actionKey = actionOf({ metadata, ...rest });
    for (let failures = 0; !signal.aborted; ) {
      try {
        // Detached actions keep their Lease for the replica that adopts them.
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

  /** Removes Leases of dead replicas whose actions have ended, because their BMCs may never be used again. */
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
      // In this order: a holder that is not a member now has left.
      const { items } = await list("bmc");
      if (items.length === 0) return;
      const members = new Set((await list("member")).items.map(holderOf));
      const left = items.filter((lease) => !members.has(holderOf(lease)));
      const active =
        left.length === 0
          ? new Set<string>()
          : await this.#ask(signal, (bound) => activeActionKeys(cluster, bound));
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
      // The next start tries again, and `#judge` also handles such a Lease.
      const error = textOf(thrown);
      if (!signal.aborted) log.debug({ error }, "expired BMC lease removal failed");
    }
  }

  #ask<T>(signal: AbortSignal, work: (bound: AbortSignal) => Promise<T>): Promise<T> {
    return withRequestTimeout(this.#options.clock, this.#timings.requestTimeoutMs, signal, work);
  }
}
