import { randomUUID } from "node:crypto";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Cluster } from "../client/cluster.ts";
import type { LeaderFacts } from "./leader-election.ts";
import { LeaderElection } from "./leader-election.ts";
import { LeaderLabel } from "./leader-label.ts";

export interface LeadershipOptions {
  readonly cluster: Cluster;
  readonly lease: string;
  /** The host name, which in a cluster is the pod's name. */
  readonly host: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const UNLABEL_MS = 1_000;

/** A worker's leader election, which also labels the leader's pod. */
export class Leadership {
  readonly #election: LeaderElection;
  readonly #label: LeaderLabel;
  readonly #end = new AbortController();

  constructor({ cluster, lease, host, clock, log }: LeadershipOptions) {
    const identity = `${host}_${randomUUID().slice(0, 8)}`;
    this.#election = new LeaderElection({ cluster, lease, identity, clock, log });
    this.#label = new LeaderLabel({ cluster, pod: host, clock, log });
  }

  get isLeading(): boolean {
    return this.#election.isLeading;
  }

  get lost(): Promise<string> {
    return this.#election.lost;
  }

  state(): LeaderFacts {
    return this.#election.state();
  }

  async acquire(stop: AbortSignal): Promise<void> {
    const acquired = new AbortController();
    // A restarted container may still have the label from its earlier run.
    const cleaning = this.#label.remove(AbortSignal.any([stop, acquired.signal]));
    await this.#election.acquire(stop);
    acquired.abort();
    await cleaning;
    if (!this.isLeading) return;
    const before = this.#election.previous;
    void this.#label.move(before?.replace(/_[^_]*$/, ""), this.#end.signal);
  }

  async release(): Promise<void> {
    const wasLeading = this.isLeading;
    this.#end.abort();
    const unlabelled = wasLeading ? this.#label.remove(AbortSignal.timeout(UNLABEL_MS)) : undefined;
    await Promise.all([this.#election.release(), unlabelled]);
  }
}
