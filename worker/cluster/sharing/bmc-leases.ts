import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { type LockPurpose, type Locks, MachineLocks, TurnRefused } from "../../turns/turns.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError, KubernetesError } from "../client/kubernetes-error.ts";
import { watchUntil } from "../client/watched-objects.ts";
import { actionEnded, activeActionKeys, isActionActive } from "./active-jobs.ts";
import type { LaneShares } from "./lane-shares.ts";
import { type LeaseRequests, leaseRequests, versionOf, withRequestTimeout } from "./lease-requests.ts";
import {
  actionOf,
  bmcLeaseName,
  holderOf,
  type LeaseText,
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

interface Acquired {
  readonly lease: ShareLease;
  /** Taken over from a gone replica for the same action, whose Job may run. */
  readonly isInherited: boolean;
}

interface Claimant {
  readonly identity: string;
  readonly actionKey: string | undefined;
  readonly signal: AbortSignal;
}

/** Locks by machine name (for an address that changes) stay local, because each lane belongs to one replica. */
const SHARED_KEY = /^bmc /;
const RETRY_LONGEST_MS = 30_000;
/** An action that waited longer for its turn is served again anyway: `STALE_MS`. */
const JOB_WAIT_MS = 5_000;
const SWEEP_INTERVAL_MS = 10 * 60_000;

/**
 * `MachineLocks` for all replicas of a group, because agent IDs of two replicas may mean the same BMC. A replica's
 * actions queue locally; the first one creates a Lease, which costs two requests per action.
 */
export class BmcLeases implements Locks {
  readonly #options: BmcLeasesOptions;
  readonly #timings: Timings;
  readonly #leases: LeaseRequests;
  readonly #local = new MachineLocks();
  readonly #releases = new Set<Promise<void>>();
  /** Aborts pending releases after the worker has stopped. */
  readonly #end = new AbortController();
  #stop: AbortSignal | undefined;
  /** Keys of actions whose Jobs were logged as in use. */
  readonly #logged = new Set<string>();
  #isClosed = false;

  constructor(options: BmcLeasesOptions) {
    this.#options = options;
    this.#timings = options.timings ?? TIMINGS;
    this.#leases = leaseRequests(options.cluster, options.clock, this.#timings.requestTimeoutMs);
  }

  /**
   * Resolves to the function that releases the lock. Rejects when the signal aborts, with `TurnRefused`, and with a
   * `KubernetesError` that is not transient.
   */
  async acquire(key: string, signal: AbortSignal, purpose: LockPurpose = {}): Promise<() => void> {
    const release = await this.#local.acquire(key, signal);
    if (!SHARED_KEY.test(key)) return release;
    let isInDoubt = false;
    try {
      const acquired = await this.#acquireLease(key, signal, purpose, () => {
        isInDoubt = true;
      });
      return () => this.#inBackground(this.#release(acquired), release);
    } catch (thrown) {
      // Another replica held the Lease: no request of ours created it.
      if (thrown instanceof TurnRefused) release();
      else {
        isInDoubt = true;
        this.#inBackground(this.#releaseUnanswered(this.#nameOf(key)), release);
      }
      throw thrown;
    } finally {
      if (isInDoubt) void this.#releaseLate(key);
    }
  }

  /** The next action of this replica gets the BMC when the Lease is released. `work` must not reject. */
  #inBackground(work: Promise<void>, release: () => void): void {
    const given = work.finally(() => {
      this.#releases.delete(given);
      release();
    });
    this.#releases.add(given);
  }

  /** Removes Leases of dead replicas, soon and then rarely, until the signal aborts: when the worker stops. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#stop = signal;
    const { leaseDurationMs, renewIntervalMs } = this.#timings;
    // By then an earlier process with this name has usually been evicted.
    const soonMs = leaseDurationMs + renewIntervalMs;
    try {
      for (let pauseMs = soonMs; ; ) {
        await this.#options.clock.sleep(pauseMs, signal);
        pauseMs = (await this.#sweep(signal)) ? SWEEP_INTERVAL_MS : soonMs;
      }
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  /** Call after the last action. Waits a few seconds for pending releases. Never rejects. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    this.#isClosed = true;
    await withRequestTimeout(clock, this.#timings.stopMs, new AbortController().signal, () =>
      Promise.all(this.#releases),
    ).catch(() => undefined);
    this.#end.abort(new Error("the worker has stopped"));
  }

  /** `onDoubt`: a request got no answer, and may still create the Lease. */
  async #acquireLease(
    key: string,
    signal: AbortSignal,
    { actionKey }: LockPurpose,
    onDoubt: () => void,
  ): Promise<Acquired> {
    const { shares, clock, log } = this.#options;
    const { group } = shares;
    const name = this.#nameOf(key);
    const mine = (holder: string, before?: ShareLease): LeaseText => {
      return { group, role: "bmc", name, holder, nowMs: clock.now(), actionKey, before };
    };
    let isThere = false;
    let isInherited = false;
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
          const own = certain(await this.#leases.write(mine(identity), signal));
          if (own) return { lease: own, isInherited: false };
        }
        isThere = true;
        const lease = await this.#leases.find(name, signal);
        const judged = lease ? await this.#judge(lease, { identity, actionKey, signal }) : "changed";
        if (lease && judged === "mine") return { lease, isInherited };
        if (lease && judged === "free") {
          isInherited ||= actionKey !== undefined && actionOf(lease) === actionKey;
          const own = certain(await this.#leases.write(mine(identity, lease), signal));
          if (own) return { lease: own, isInherited };
        } else isThere = false;
      } catch (thrown) {
        if (signal.aborted) throw signal.reason;
        // Another replica was faster, or a response was lost: the next round finds out.
        isThere = true;
        if (isKubernetesError(thrown, "already-exists", "conflict", "not-found")) continue;
        if (!(thrown instanceof KubernetesError) || !thrown.passing) throw thrown;
        onDoubt();
        failures += 1;
        const facts = { lease: name, error: thrown.message };
        logOutage(log, failures === 1, facts, "BMC lease acquisition failed, retrying");
        await clock.sleep(this.#retryMs(failures), signal);
      }
    }
  }

  #nameOf(key: string): string {
    return bmcLeaseName(this.#options.shares.group, key);
  }

  #retryMs(failures: number): number {
    return Math.min(this.#timings.retryMs * 2 ** failures, RETRY_LONGEST_MS);
  }

  /** Whether the existing Lease is ours, can be taken over, or changed while this waited. */
  async #judge(
    lease: ShareLease,
    { identity, actionKey, signal }: Claimant,
  ): Promise<"mine" | "free" | "changed"> {
    const holder = holderOf(lease);
    const heldKey = actionOf(lease);
    // Our own request whose response was lost: locally, only this caller has the lock.
    if (holder === identity) return heldKey === actionKey ? "mine" : "free";
    if (holder !== undefined && (await this.#isAlive(holder, signal))) {
      await this.#changed(lease, holder, signal);
      if (heldKey !== undefined && heldKey === actionKey && this.#options.shares.isMember(holder))
        throw new TurnRefused("another replica ran this action");
      return "changed";
    }
    if (heldKey === undefined || heldKey === actionKey) return "free";
    if (await this.#isActive(heldKey, signal)) {
      await this.#waitForJob(lease, heldKey, signal);
      return "changed";
    }
    this.#logged.delete(heldKey);
    return "free";
  }

  /**
   * Waits a few seconds for the Job of a gone replica. A Job that was never started ends only in the turn of its own action, which may
   * be queued behind this one.
   */
  async #waitForJob({ metadata }: ShareLease, actionKey: string, signal: AbortSignal): Promise<void> {
    const { cluster, clock, log } = this.#options;
    if (!this.#logged.has(actionKey)) {
      log.info({ lease: metadata.name }, "BMC in use by a Job of a gone replica, waiting");
    }
    this.#logged.add(actionKey);
    try {
      const ended = (bound: AbortSignal) => actionEnded({ cluster, clock, log }, actionKey, bound);
      await withTimeout(JOB_WAIT_MS, signal, ended, clock);
    } catch (thrown) {
      if (thrown instanceof TimeoutReached) throw new TurnRefused("a Job of a gone replica uses the BMC");
      throw thrown;
    }
  }

  #isActive(actionKey: string, signal: AbortSignal): Promise<boolean> {
    return this.#leases.bounded(signal, (bound) => isActionActive(this.#options.cluster, actionKey, bound));
  }

  /** A member that our watch does not show may have just joined; a list is never stale. */
  async #isAlive(holder: string, signal: AbortSignal): Promise<boolean> {
    const { shares } = this.#options;
    if (shares.isMember(holder)) return true;
    const found = await this.#leases.find(memberLeaseName(shares.group, memberOf(holder)), signal);
    return found !== undefined && holderOf(found) === holder;
  }

  /** Resolves when the Lease changes its holder or is gone, or its holder is gone. Rejects with the signal's reason. */
  async #changed(lease: ShareLease, holder: string, signal: AbortSignal): Promise<void> {
    const { cluster, shares, clock, log } = this.#options;
    const { name, uid } = lease.metadata;
    const holderLeft = new AbortController();
    let wasMember = shares.isMember(holder);
    const unlisten = shares.onMembersChanged(() => {
      const isMember = shares.isMember(holder);
      if (wasMember && !isMember) holderLeft.abort();
      wasMember = isMember;
    });
    const { namespace } = cluster;
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    const project = (object: unknown) => ShareLease.safeParse(object).data;
    try {
      await watchUntil(
        { cluster, kind: KINDS.lease, selection, project, clock, log },
        (leases) => {
          const now = leases.get({ namespace, name });
          return now?.metadata.uid !== uid || holderOf(now) !== holder;
        },
        AbortSignal.any([signal, holderLeft.signal]),
      );
    } catch {
      signal.throwIfAborted();
    } finally {
      unlisten();
    }
  }

  /** Releases a Lease. A Lease that another replica took over is left to it. Never rejects. */
  #release({ lease, isInherited }: Acquired): Promise<void> {
    const { name } = lease.metadata;
    const holder = holderOf(lease);
    let known: ShareLease | undefined = lease;
    return this.#retried(name, async (signal) => {
      const held = known ?? (await this.#leases.find(name, signal));
      // Should this fail, the next attempt reads it again: the holder decides, because anything may change a Lease, such as its labels.
      known = undefined;
      if (!held || holderOf(held) !== holder) return;
      // This replica may have detached from the action, or returned it to the server instead of adopting it.
      const mayRun = isInherited || this.#isClosed || this.#stop?.aborted;
      await (mayRun ? this.#clearOrRemove(held, signal) : this.#leases.remove(versionOf(held), signal));
    });
  }

  /** Releases the Lease that an aborted acquisition may have written. If this replica is stopping, its Leases end with it. Never rejects. */
  async #releaseUnanswered(name: string): Promise<void> {
    const stop = this.#stop ?? this.#end.signal;
    await this.#options.clock.sleep(this.#timings.requestTimeoutMs, stop).catch(() => undefined);
    if (!stop.aborted) await this.#releaseOwn(name);
  }

  /** Releases the Lease that an unanswered request created later, in a turn of its own. Never rejects. */
  async #releaseLate(key: string): Promise<void> {
    const stop = this.#stop ?? this.#end.signal;
    try {
      await this.#options.clock.sleep(this.#timings.lateMs, stop);
      const release = await this.#local.acquire(key, stop);
      this.#inBackground(this.#releaseOwn(this.#nameOf(key)), release);
    } catch (thrown) {
      if (!stop.aborted) throw thrown;
    }
  }

  /** Releases a Lease that this replica would otherwise hold as long as it lives. Never rejects. */
  #releaseOwn(name: string): Promise<void> {
    return this.#retried(name, async (signal) => {
      const lease = await this.#leases.find(name, signal);
      if (lease && holderOf(lease) === this.#options.shares.identity)
        await this.#clearOrRemove(lease, signal);
    });
  }

  /** Clears the holder while the action's Job runs, for the replica that adopts the action; otherwise removes the Lease. */
  async #clearOrRemove(lease: ShareLease, signal: AbortSignal): Promise<void> {
    const { clock, shares } = this.#options;
    const actionKey = actionOf(lease);
    if (actionKey !== undefined && (await this.#isActive(actionKey, signal))) {
      const { name } = lease.metadata;
      const text = { group: shares.group, role: "bmc", name, nowMs: clock.now(), actionKey } as const;
      await this.#leases.write({ ...text, holder: undefined, before: lease }, signal);
    } else await this.#leases.remove(versionOf(lease), signal);
  }

  /** Repeats a release until it succeeds or `close`. Never rejects. */
  async #retried(name: string, release: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#end;
    for (let failures = 0; !signal.aborted; ) {
      try {
        await release(signal);
        return;
      } catch (thrown) {
        if (signal.aborted) return;
        failures += 1;
        const facts = { lease: name, error: textOf(thrown) };
        logOutage(log, failures === 1, facts, "BMC lease release failed, retrying");
        await clock.sleep(this.#retryMs(failures), signal).catch(() => undefined);
      }
    }
  }

  /** Its member Lease may still have to expire. */
  #isOfEarlierProcess(lease: ShareLease): boolean {
    const { identity } = this.#options.shares;
    const holder = holderOf(lease) ?? "";
    return holder !== identity && memberOf(holder) === memberOf(identity);
  }

  /** Removes Leases of dead replicas whose actions have ended, because their BMCs may never be used again. False if it must be repeated soon. */
  async #sweep(signal: AbortSignal): Promise<boolean> {
    const { cluster, shares, log } = this.#options;
    const leases = this.#leases;
    const list = (role: "bmc" | "member") =>
      leases.list({ labelSelector: selectorOf(shares.group, role) }, signal);
    try {
      // In this order: a holder that is not a member now has left.
      const { items } = await list("bmc");
      if (items.length === 0) return true;
      const members = new Set((await list("member")).items.map(holderOf));
      const left = items.filter((lease) => !members.has(holderOf(lease)));
      const isWaiting = items.some(
        (lease) => members.has(holderOf(lease)) && this.#isOfEarlierProcess(lease),
      );
      if (left.length === 0) return !isWaiting;
      const active = await leases.bounded(signal, (bound) => activeActionKeys(cluster, bound));
      const over = left.filter((lease) => !active.has(actionOf(lease) ?? ""));
      let swept = 0;
      for (const lease of over) if (await leases.remove(versionOf(lease), signal)) swept += 1;
      if (swept > 0) log.info({ leases: swept }, "expired BMC leases removed");
      return !isWaiting && over.length === left.length;
    } catch (thrown) {
      const error = textOf(thrown);
      if (!signal.aborted) log.debug({ error }, "expired BMC lease removal failed");
      return false;
    }
  }
}
