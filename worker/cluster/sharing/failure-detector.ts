import { textOf } from "../../../shared/text-of.ts";
import { isKubernetesError } from "../client/kubernetes-error.ts";
import { type SharingOptions, versionOf } from "./lease-requests.ts";
import type { Membership } from "./membership.ts";
import { combinedHash, stableHash } from "./shards.ts";
import type { ObservedMember, ShareView } from "./share-view.ts";

export interface FailureDetectorOptions extends SharingOptions {
  readonly view: ShareView;
  readonly membership: Pick<Membership, "identity" | "leaseName" | "isValid" | "checkNow">;
  /** The watch shows no renewals although the API accepts them. Must not throw. */
  readonly onWatchStalled: () => void;
}

/** The other replicas try later than the first one, in case it fails. */
const FALLBACK_DELAY_MS = 1_000;
const FALLBACK_SPREAD_MS = 2_000;

/**
 * Evicts members whose Lease has not changed for too long, measured by our monotonic clock since the last change (as
 * client-go does, so that no wall clocks are compared). It deletes exactly the version it saw: if our view is stale or
 * the member has just renewed, the API refuses.
 */
export class FailureDetector {
  readonly #options: FailureDetectorOptions;
  /** When the watch last showed our own renewal: only then does the silence of others mean anything. */
  #renewalSeenMs: number;
  #isWatchAlive = false;
  readonly #tryAtMs = new Map<string, number>();
  /** Our identity, once the watch has shown its Lease. */
  #shown: string | undefined;

  constructor(options: FailureDetectorOptions) {
    this.#options = options;
    this.#renewalSeenMs = options.clock.monotonicMs();
  }

  renewalSeen(): void {
    if (!this.#isRecent) this.#options.view.restartSilences();
    this.#isWatchAlive = true;
    this.#renewalSeenMs = this.#options.clock.monotonicMs();
  }

  /** Evicts overdue members; returns the time until the next one may be due. */
  step(signal: AbortSignal): number {
    const { clock, membership, timings, view } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#checkOwnLease();
    if (!this.#isRecent) {
      if (membership.isValid && nowMs - this.#renewalSeenMs > timings.leaseDurationMs) {
        this.#renewalSeenMs = nowMs;
        this.#isWatchAlive = false;
        this.#options.onWatchStalled();
      }
      return timings.renewIntervalMs;
    }
    let waitMs = timings.leaseDurationMs;
    for (const [name, member] of view.members) {
      if (name === membership.leaseName) continue;
      const overdueMs = member.changedMs + timings.leaseDurationMs;
      if (overdueMs > nowMs) {
        this.#tryAtMs.delete(member.identity);
        waitMs = Math.min(waitMs, overdueMs - nowMs);
        continue;
      }
      const tryAtMs = this.#tryAtMs.get(member.identity) ?? nowMs + this.#delayMs(member);
      if (tryAtMs > nowMs) {
        this.#tryAtMs.set(member.identity, tryAtMs);
        waitMs = Math.min(waitMs, tryAtMs - nowMs);
        continue;
      }
      this.#tryAtMs.set(member.identity, nowMs + FALLBACK_DELAY_MS + timings.requestTimeoutMs);
      void this.#evict(name, member, signal);
    }
    for (const identity of this.#tryAtMs.keys()) if (!view.has(identity)) this.#tryAtMs.delete(identity);
    return waitMs;
  }

  /** Our Lease was deleted, by another replica or by hand. */
  #checkOwnLease(): void {
    const { membership, view } = this.#options;
    const isThere = view.members.get(membership.leaseName)?.identity === membership.identity;
    if (isThere) this.#shown = membership.identity;
    else if (this.#shown === membership.identity) {
      this.#shown = undefined;
      membership.checkNow();
    }
  }

  get #isRecent(): boolean {
    const { clock, timings } = this.#options;
    const silentMs = clock.monotonicMs() - this.#renewalSeenMs;
    return this.#isWatchAlive && silentMs < 2 * timings.renewIntervalMs + timings.requestTimeoutMs;
  }

  /** The replica whose hash ranks highest goes first. */
  #delayMs(dead: ObservedMember): number {
    const { membership, random, view } = this.#options;
    const hash = stableHash(dead.identity);
    const rank = (identity: string) => combinedHash(hash, stableHash(identity));
    const own = rank(membership.identity);
    for (const { identity } of view.members.values()) {
      if (identity !== dead.identity && rank(identity) > own)
        return FALLBACK_DELAY_MS + random() * FALLBACK_SPREAD_MS;
    }
    return 0;
  }

  /** Never rejects. */
  async #evict(name: string, { identity, lease }: ObservedMember, signal: AbortSignal): Promise<void> {
    const { leases, log, view } = this.#options;
    try {
      const existed = await leases.remove(versionOf(lease), signal);
      if (existed) log.warn({ replica: identity }, "replica gone, redistributing its lanes");
    } catch (thrown) {
      if (signal.aborted) return;
      // It is alive and our watch is late.
      if (isKubernetesError(thrown, "conflict")) view.restartSilence(name);
      else log.warn({ replica: identity, error: textOf(thrown) }, "replica eviction failed, retrying");
    }
  }
}
