import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError } from "../client/kubernetes-error.ts";
import type { Membership } from "./membership.ts";
import { withRequestTimeout } from "./request-timeout.ts";
import type { ShareCluster } from "./share-lease.ts";
import type { ObservedMember, ShareView } from "./share-view.ts";
import { combinedHash, stableHash } from "./stable-hash.ts";
import type { Timings } from "./timings.ts";

export interface FailureDetectorOptions {
  readonly cluster: ShareCluster;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
  readonly timings: Timings;
  readonly view: ShareView;
  readonly membership: Pick<Membership, "identity" | "leaseName" | "isValid" | "checkNow">;
  /** The watch shows no renewals although the API accepts them. Must not throw. */
  readonly onWatchStalled: () => void;
}

/** The other replicas try later than the first one, in case it fails. */
const SECOND_MS = 1_000;
const SPREAD_MS = 2_000;

/**
 * Evicts members whose Lease has not changed for too long, measured by our monotonic clock since the last change (as
 * client-go does, so that no wall clocks are compared). It deletes exactly the version it saw: if our view is stale or
 * the member has just renewed, the API refuses.
 */
export class FailureDetector {
  readonly #options: FailureDetectorOptions;
  /** When the watch last showed our own renewal: only then does the silence of others mean anything. */
  #heardMs: number;
  #isHearing = false;
  /** By identity: the next attempt. */
  readonly #tryAtMs = new Map<string, number>();
  /** Our identity, once the watch has shown its Lease. */
  #shown: string | undefined;

  constructor(options: FailureDetectorOptions) {
    this.#options = options;
    this.#heardMs = options.clock.monotonicMs();
  }

  /** Call when the watch shows our own renewal. */
  heard(): void {
    if (!this.#isRecent) this.#options.view.forgetSilences();
    this.#isHearing = true;
    this.#heardMs = this.#options.clock.monotonicMs();
  }

  /** Evicts overdue members; returns the time until the next one may be due. */
  step(signal: AbortSignal): number {
    const { clock, membership, timings, view } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#lookAtOwn();
    if (!this.#isRecent) {
      if (membership.isValid && nowMs - this.#heardMs > timings.leaseDurationMs) {
        this.#heardMs = nowMs;
        this.#isHearing = false;
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
      const tryAtMs = this.#tryAtMs.get(member.identity) ?? nowMs + this.#turnMs(member);
      if (tryAtMs > nowMs) {
        this.#tryAtMs.set(member.identity, tryAtMs);
        waitMs = Math.min(waitMs, tryAtMs - nowMs);
        continue;
      }
      this.#tryAtMs.set(member.identity, nowMs + SECOND_MS + timings.requestTimeoutMs);
      void this.#depose(name, member, signal);
    }
    for (const identity of this.#tryAtMs.keys()) if (!view.has(identity)) this.#tryAtMs.delete(identity);
    return waitMs;
  }

  /** Our Lease was deleted, by another replica or by hand. */
  #lookAtOwn(): void {
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
    const silentMs = clock.monotonicMs() - this.#heardMs;
    return this.#isHearing && silentMs < 2 * timings.renewIntervalMs + timings.requestTimeoutMs;
  }

  /** The replica whose hash ranks highest goes first. */
  #turnMs(dead: ObservedMember): number {
    const { membership, random, view } = this.#options;
    const hash = stableHash(dead.identity);
    const rank = (identity: string) => combinedHash(hash, stableHash(identity));
    const own = rank(membership.identity);
    for (const { identity } of view.members.values()) {
      if (identity !== dead.identity && rank(identity) > own) return SECOND_MS + random() * SPREAD_MS;
    }
    return 0;
  }

  /** Never rejects. */
  async #depose(name: string, { identity, lease }: ObservedMember, signal: AbortSignal): Promise<void> {
    const { cluster, clock, log, timings, view } = this.#options;
    const { uid, resourceVersion } = lease.metadata;
    try {
      const at = { namespace: cluster.namespace, name };
      const was = await withRequestTimeout(clock, timings.requestTimeoutMs, signal, (bound) =>
        cluster.remove(KINDS.lease, at, { uid, resourceVersion }, bound),
      );
      if (was) log.warn({ replica: identity }, "replica gone, redistributing its lanes");
    } catch (thrown) {
      if (signal.aborted) return;
      // It is alive and our watch is late.
      if (isKubernetesError(thrown, "conflict")) view.forgetSilence(name);
      else {
        const error = textOf(thrown);
        log.warn({ replica: identity, error }, "replica eviction failed, retrying");
      }
    }
  }
}
