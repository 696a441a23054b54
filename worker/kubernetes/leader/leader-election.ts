import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { Notifier } from "../../../shared/notifier.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import type { Cluster, WatchedCluster } from "../client/cluster.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError, KubernetesError } from "../client/kubernetes-error.ts";
import { WatchedObjects } from "../client/watched-objects.ts";
import { ElapsedTime, type Moment } from "./elapsed-time.ts";
import { holderOf, Lease, leaseText } from "./lease.ts";

export interface LeaderFacts {
  readonly lease: string;
  /** Whether this worker certainly leads now. */
  readonly isLeading: boolean;
  /** The current leader, as far as this worker knows. */
  readonly leader: string | undefined;
  /** Why the Lease cannot be read or renewed, in one line. */
  readonly problem: string | undefined;
}

/** The requests of a `Cluster` that leader election sends. */
interface LeaseCluster extends WatchedCluster {
  readonly namespace: string;
  readonly create: Cluster["create"];
  readonly replace: Cluster["replace"];
}

export interface LeaderElectionOptions {
  readonly cluster: LeaseCluster;
  readonly lease: string;
  /** Unique per process, so that a process that has ended is not mistaken for one that was paused. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly time?: ElapsedTime;
  readonly random?: () => number;
}

/** The durations of client-go's leader election, but for the deadline: it lets a leader lead while each answer takes 6 s. */
const LEASE_MS = 15_000;
const RENEW_DEADLINE_MS = 12_000;
const RETRY_MS = 2_000;
const JITTER = 0.2;
/** The time limit of a request. After one that is never answered, there is time for another one before the deadline. */
const REQUEST_MS = 8_000;
const NEVER = new AbortController().signal;

/**
 * Leader election with one Lease, like client-go's. Each write names the version of the Lease that was read, so that only one
 * of several candidates succeeds. A follower takes the Lease over when it has not seen it change for the Lease's duration, by
 * the follower's own monotonic clock. The leader stops leading earlier, counted from the moment before it sent its last
 * renewal.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #time: ElapsedTime;
  readonly #notifier = new Notifier();
  readonly #end = new AbortController();
  readonly #lost = Promise.withResolvers<string>();
  /** The latest version of the Lease that was seen, and when it was first seen. */
  #seen:
    | { readonly version: string; readonly holder: string | undefined; readonly sinceMs: number }
    | undefined;
  /** The Lease as this leader last wrote it. */
  #lease: Lease | undefined;
  #renewed: Moment | undefined;
  #previous: string | undefined;
  #problem: string | undefined;
  #renewing: Promise<void> | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#time = options.time ?? new ElapsedTime(options.clock);
  }

  /** Whether this worker certainly leads now. Check right before each launch, because the process may have been paused meanwhile. */
  get isLeading(): boolean {
    return this.#remainingMs > 0 && !this.#end.signal.aborted;
  }

  /** Resolves to the reason when this worker has lost the Lease without releasing it, so that it must exit. */
  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  /** The holder from which this leader took over the Lease. */
  get previous(): string | undefined {
    return this.#previous;
  }

  state(): LeaderFacts {
    const { lease, identity } = this.#options;
    const { isLeading } = this;
    const leader = isLeading ? identity : this.#seen?.holder;
    return { lease, isLeading, leader, problem: this.#problem };
  }

  /** Resolves when this worker leads, or when the signal aborts. A leader renews the Lease until `release`. Never rejects. */
  async acquire(stop: AbortSignal): Promise<void> {
    const { clock, lease, log, random = Math.random } = this.#options;
    const acquired = new AbortController();
    const watching = this.#watch(AbortSignal.any([stop, acquired.signal]));
    let leader: string | undefined;
    while (!stop.aborted && !(await this.#try(stop))) {
      const holder = this.#seen?.holder;
      if (holder !== undefined && holder !== leader)
        log.info({ lease, leader: holder }, "another worker leads, waiting");
      leader = holder;
      const retryMs = RETRY_MS * (1 + JITTER * random());
      await this.#notifier.wait(Math.min(retryMs, Math.max(this.#expiresInMs, 1)), clock, stop);
    }
    acquired.abort(new Error("the Lease is acquired"));
    await watching;
    if (!this.isLeading) return;
    log.info({ lease, ...(this.#previous !== undefined && { previous: this.#previous }) }, "leading");
    this.#renewing = this.#keepRenewing(this.#end.signal);
  }

  /** Releases the Lease, so that another worker can lead at once. Call when this worker starts nothing more. Never rejects. */
  async release(): Promise<void> {
    const { clock, lease, log } = this.#options;
    const wasLeading = this.isLeading;
    this.#end.abort(new Error("the Lease is released"));
    await this.#renewing;
    if (!wasLeading) return;
    try {
      const release = async (bound: AbortSignal): Promise<void> => {
        const found = await this.#find(bound);
        if (found && holderOf(found) === this.#options.identity) await this.#write("", 0, found, bound);
      };
      await withTimeout(
        RENEW_DEADLINE_MS,
        NEVER,
        (bound) =>
          // The last renewal may have reached the API after this worker read the Lease.
          release(bound).catch((thrown) => {
            if (!isKubernetesError(thrown, "conflict")) throw thrown;
            return release(bound);
          }),
        clock,
      );
      log.info({ lease }, "leadership released");
    } catch (thrown) {
      log.warn({ lease, error: textOf(thrown) }, "lease release failed, leaving it to expire");
    }
  }

  get #remainingMs(): number {
    return this.#renewed ? RENEW_DEADLINE_MS - this.#time.since(this.#renewed) : 0;
  }

  /** The time until this worker may take the Lease over if its holder does not renew it; infinite if it has no holder. */
  get #expiresInMs(): number {
    if (this.#seen?.holder === undefined) return Number.POSITIVE_INFINITY;
    return LEASE_MS - (this.#options.clock.monotonicMs() - this.#seen.sinceMs);
  }

  /** One attempt to acquire the Lease. */
  async #try(signal: AbortSignal): Promise<boolean> {
    const { identity } = this.#options;
    try {
      const found = await this.#find(signal);
      if (found) {
        this.#observe(found);
        const holder = holderOf(found);
        if (holder !== undefined && holder !== identity && this.#expiresInMs > 0) {
          this.#recovered();
          return false;
        }
        if (holder !== identity) this.#previous = holder;
      }
      const sent = this.#time.now();
      this.#lease = await this.#write(identity, LEASE_MS, found, signal);
      this.#succeed(sent);
      return this.isLeading;
    } catch (thrown) {
      // Another worker was faster.
      if (!signal.aborted && !isKubernetesError(thrown, "conflict", "already-exists")) this.#fail(thrown);
      return false;
    }
  }

  /** Renews the Lease until the signal aborts or this worker no longer leads. */
  async #keepRenewing(signal: AbortSignal): Promise<void> {
    const { clock, lease } = this.#options;
    let reason: string | undefined;
    let attemptedMs = clock.monotonicMs();
    while (!signal.aborted && reason === undefined) {
      // A slow answer leaves no time for a pause.
      const pauseMs = Math.min(attemptedMs + RETRY_MS - clock.monotonicMs(), this.#remainingMs);
      await this.#notifier.wait(Math.max(pauseMs, 1), clock, signal);
      if (signal.aborted) return;
      attemptedMs = clock.monotonicMs();
      // If the version that this leader wrote can still be renewed, no other worker has led meanwhile.
      const isLastAttempt = this.#remainingMs <= 0;
      reason = await this.#renew(signal);
      if (isLastAttempt && this.#remainingMs <= 0 && !signal.aborted) {
        const problem = this.#problem ?? "this process was paused";
        reason ??= `${lease} was not renewed for ${RENEW_DEADLINE_MS / 1_000} s: ${problem}`;
      }
    }
    if (reason === undefined) return;
    this.#renewed = undefined;
    this.#lost.resolve(reason);
  }

  /** Resolves to the reason why this worker no longer leads. */
  async #renew(signal: AbortSignal): Promise<string | undefined> {
    const { identity } = this.#options;
    const sent = this.#time.now();
    try {
      try {
        this.#lease = await this.#write(identity, LEASE_MS, this.#lease, signal);
      } catch (thrown) {
        if (!isKubernetesError(thrown, "conflict", "not-found")) throw thrown;
        const found = await this.#find(signal);
        const holder = found && holderOf(found);
        if (!found && this.#remainingMs <= 0) return "its Lease was deleted";
        if (found && holder !== identity) {
          this.#observe(found);
          return holder === undefined ? "its Lease was released by hand" : `${holder} holds the Lease`;
        }
        // The answer to an earlier renewal was lost, or the Lease was deleted by hand.
        this.#lease = await this.#write(identity, LEASE_MS, found, signal);
      }
      this.#succeed(sent);
    } catch (thrown) {
      if (!signal.aborted) this.#fail(thrown);
    }
    return undefined;
  }

  #succeed(sent: Moment): void {
    this.#renewed = sent;
    this.#recovered();
  }

  #recovered(): void {
    const { lease, log } = this.#options;
    if (this.#problem !== undefined) log.info({ lease }, "lease requests recovered");
    this.#problem = undefined;
  }

  #fail(thrown: unknown): void {
    const { lease, log } = this.#options;
    const facts = { lease, error: textOf(thrown) };
    logOutage(log, this.#problem === undefined, facts, "lease request failed, retrying");
    this.#problem = facts.error;
  }

  #observe(lease: Lease): void {
    const version = lease.metadata.resourceVersion;
    if (version === this.#seen?.version) return;
    this.#seen = { version, holder: holderOf(lease), sinceMs: this.#options.clock.monotonicMs() };
  }

  /** Watches the Lease, so that a follower sees a renewal or a release at once. Without the right to watch, `acquire` polls. */
  #watch(signal: AbortSignal): Promise<void> {
    const { cluster, lease, clock, log } = this.#options;
    const watched = new WatchedObjects<Lease>({
      cluster,
      kind: KINDS.lease,
      selection: { namespace: cluster.namespace, fieldSelector: `metadata.name=${lease}` },
      project: (object) => Lease.safeParse(object).data,
      onChange: (change) => {
        if (change.kind === "set") this.#observe(change.value);
        if (change.kind === "gone" || holderOf(change.value) === undefined) this.#notifier.notify();
      },
      clock,
      log,
    });
    return watched.run(signal);
  }

  /** Uses a list because without a version its response is never stale, and because RBAC can limit it to one name. */
  async #find(signal: AbortSignal): Promise<Lease | undefined> {
    const { cluster, lease } = this.#options;
    const selection = { namespace: cluster.namespace, fieldSelector: `metadata.name=${lease}` };
    const { items } = await this.#bounded(signal, (bound) =>
      cluster.list(KINDS.lease, selection, Lease, bound),
    );
    return items[0];
  }

  #write(holder: string, durationMs: number, before: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { cluster, clock, lease: name } = this.#options;
    const { namespace } = cluster;
    const text = leaseText({ name, holder, durationMs, nowMs: clock.now(), before });
    return this.#bounded(signal, (bound) =>
      before
        ? cluster.replace(KINDS.lease, { namespace, name }, text, Lease, bound)
        : cluster.create(KINDS.lease, namespace, text, Lease, bound),
    );
  }

  async #bounded<T>(signal: AbortSignal, request: (bound: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await withTimeout(REQUEST_MS, signal, request, this.#options.clock);
    } catch (thrown) {
      if (!(thrown instanceof TimeoutReached)) throw thrown;
      throw new KubernetesError("timeout", `the Kubernetes API did not answer within ${REQUEST_MS} ms`);
    }
  }
}
